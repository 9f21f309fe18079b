"""Every configuration key that RocketMQ 4.9.7 reads from a broker or name server file.

Rule: a key that is listed here and used by none of our configs is accepted with a warning, so
that a working broker.conf keeps working; a key that is not listed is an error (``typed_config``).
Such an unused key is listed with Java's default, so that tools get every key.

Source: the setters of common/BrokerConfig.java, store/config/MessageStoreConfig.java,
remoting/netty/NettyServerConfig.java, remoting/netty/NettyClientConfig.java and
common/namesrv/NamesrvConfig.java (4.9.7), common/ControllerConfig.java,
auth/config/AuthConfig.java (5.4.0);
``enableBatchPush`` is the setter of isEnableBatchPush.
"""

from typing import Final

_BROKER = """
    accessMessageInMemoryMaxRatio aclEnable adminBrokerThreadPoolNums=16
    autoCreateSubscriptionGroup autoCreateTopicEnable autoDeleteUnusedStats=false
    bitMapLengthConsumeQueueExt brokerClusterName brokerFastFailureEnable brokerIP1 brokerIP2
    brokerId brokerName brokerPermission brokerRole brokerTopicEnable
    channelNotActiveInterval=60000 checkCRCOnRecover=true cleanFileForciblyEnable
    cleanResourceInterval clientAsyncSemaphoreValue=65535 clientCallbackExecutorThreads
    clientChannelMaxIdleTimeSeconds=120 clientCloseSocketIfTimeout=true
    clientManageThreadPoolNums=32 clientManagerThreadPoolQueueCapacity=1000000
    clientOnewaySemaphoreValue=65535 clientPooledByteBufAllocatorEnable=false
    clientSocketRcvBufSize=0 clientSocketSndBufSize=0 clientWorkerThreads=4 clusterTopicEnable
    commercialBaseCount=1 commercialBigCount=1 commercialEnable=true commercialTimerCount=1
    commercialTransCount=1 commitCommitLogLeastPages=4 commitCommitLogThoroughInterval=200
    commitIntervalCommitLog=200 compressedRegister connectTimeoutMillis=3000
    consumerFallbehindThreshold=17179869184 consumerManageThreadPoolNums=32
    consumerManagerThreadPoolQueueCapacity=1000000 dLegerGroup= dLegerPeers= dLegerSelfId=
    debugLockEnable=false defaultQueryMaxNum defaultTopicQueueNums deleteCommitLogFilesInterval
    deleteConsumeQueueFilesInterval deleteWhen destroyMapedFileIntervalForcibly=120000
    disableConsumeIfConsumerReadSlowly=false diskFallRecorded=true diskMaxUsedSpaceRatio
    duplicationEnable=false enableBatchPush=false enableCalcFilterBitMap enableConsumeQueueExt
    enableDLegerCommitLog=false enableDetailStat=true enableLmq enableMultiDispatch
    enablePropertyFilter enableScheduleAsyncDeliver=false enableScheduleMessageStats=true
    endTransactionPoolQueueCapacity=100000 endTransactionThreadPoolNums
    expectConsumerNumUseFilter fastFailIfNoBufferInStorePool=false
    fetchNamesrvAddrByAddressServer=false fileReservedTime filterDataCleanTimeSpan
    filterServerNums=0 filterSupportRetry flushCommitLogLeastPages
    flushCommitLogThoroughInterval flushCommitLogTimed=true flushConsumeQueueLeastPages=2
    flushConsumeQueueThoroughInterval flushConsumerOffsetHistoryInterval=60000
    flushConsumerOffsetInterval flushDelayOffsetInterval flushDiskType flushIntervalCommitLog
    flushIntervalConsumeQueue flushLeastPagesWhenWarmMapedFile forceRegister
    haHousekeepingInterval haListenPort haMasterAddress haSendHeartbeatInterval
    haSlaveFallbehindMax haTransferBatchSize heartbeatThreadPoolNums
    heartbeatThreadPoolQueueCapacity=50000 highSpeedMode=false isolateLogEnable=false listenPort
    longPollingEnable mappedFileSizeCommitLog mappedFileSizeConsumeQueue
    mappedFileSizeConsumeQueueExt maxDelayTime=40 maxErrorRateOfBloomFilter maxHashSlotNum
    maxIndexNum maxLmqConsumeQueueNum maxMessageSize maxMsgsNumBatch
    maxTransferBytesOnMessageInDisk maxTransferBytesOnMessageInMemory
    maxTransferCountOnMessageInDisk maxTransferCountOnMessageInMemory messageDelayLevel
    messageIndexEnable messageIndexSafe=false messageStorePlugIn= msgTraceTopicName namesrvAddr
    notifyConsumerIdsChangedEnable offsetCheckInSlave osPageCacheBusyTimeOutMills
    preferredLeaderId= processReplyMessageThreadPoolNums pullMessageThreadPoolNums
    pullThreadPoolQueueCapacity=100000 putMessageFutureThreadPoolNums
    putMsgIndexHightWater=600000 putThreadPoolQueueCapacity=10000 queryMessageThreadPoolNums
    queryThreadPoolQueueCapacity=20000 readOnlyCommitLogStorePaths=
    redeleteHangedFileInterval=120000 regionId registerBrokerTimeoutMills
    registerNameServerPeriod rejectTransactionMessage replyThreadPoolQueueCapacity=10000
    rocketmqHome scheduleAsyncDeliverMaxPendingLimit=2000
    scheduleAsyncDeliverMaxResendNum2Blocked=3 sendMessageThreadPoolNums
    sendThreadPoolQueueCapacity serverAsyncSemaphoreValue=64 serverCallbackExecutorThreads=0
    serverChannelMaxIdleTimeSeconds serverOnewaySemaphoreValue=256
    serverPooledByteBufAllocatorEnable=true serverSelectorThreads=3 serverSocketBacklog
    serverSocketRcvBufSize=0 serverSocketSndBufSize=0 serverWorkerThreads=8
    shortPollingTimeMills slaveReadEnable slaveTimeout startAcceptSendRequestTimeStamp
    storePathCommitLog storePathDLedgerCommitLog= storePathRootDir storeReplyMessageEnable
    syncFlushTimeout traceOn traceTopicEnable transactionCheckInterval transactionCheckMax
    transactionTimeOut transferMsgByHeap=true transientStorePoolEnable=false
    transientStorePoolSize=5 useEpollNativeSelector=false useReentrantLockWhenPutMessage=true
    useTLS=false waitTimeMillsInHeartbeatQueue=31000 waitTimeMillsInPullQueue=5000
    waitTimeMillsInSendQueue waitTimeMillsInTransactionQueue=3000 warmMapedFileEnable
    writeBufferHighWaterMark=0 writeBufferLowWaterMark=0
"""


def _keys(table: str) -> frozenset[str]:
    return frozenset(word.partition("=")[0] for word in table.split())


def _defaults(table: str) -> dict[str, str]:
    words = (word.partition("=") for word in table.split())
    return {key: text for key, sign, text in words if sign}


BROKER_KEYS: Final = _keys(_BROKER)
"""Keys of a broker.conf: a single flat set of keys from four Java classes."""

USER_KEYS: Final = frozenset({
    "aclCacheExpiredSecond", "aclCacheMaxNum", "aclCacheRefreshSecond",
    "statefulAuthenticationCacheExpiredSecond", "statefulAuthenticationCacheMaxNum",
    "statefulAuthorizationCacheExpiredSecond", "statefulAuthorizationCacheMaxNum",
    "userCacheExpiredSecond", "userCacheMaxNum", "userCacheRefreshSecond",
})  # fmt: skip
"""Keys of ACL 2.0 in a broker.conf of 5.x that only Java uses: its caches of users and rules."""

_NAMESRV = """
    clusterTest=false configStorePath kvConfigPath listenPort orderMessageEnable
    productEnvName=center rocketmqHome serverAsyncSemaphoreValue=64
    serverCallbackExecutorThreads=0 serverChannelMaxIdleTimeSeconds
    serverOnewaySemaphoreValue=256 serverPooledByteBufAllocatorEnable=true
    serverSelectorThreads=3 serverSocketBacklog=1024 serverSocketRcvBufSize=0
    serverSocketSndBufSize=0 serverWorkerThreads=8 useEpollNativeSelector=false
    writeBufferHighWaterMark=0 writeBufferLowWaterMark=0
"""

NAMESRV_KEYS: Final = _keys(_NAMESRV)
"""Keys of a name server configuration file."""

_CONTROLLER = """
    configBlackList=configBlackList;configStorePath configStorePath
    controllerDLegerGroup controllerDLegerPeers= controllerDLegerSelfId=
    controllerRequestThreadPoolQueueCapacity=50000 controllerStorePath
    controllerThreadPoolNums=16 controllerType=DLedger electMasterMaxRetryCount=3
    enableElectUncleanMaster jRaftControllerRPCAddr= jRaftElectionTimeoutMs=1000
    jRaftGroupId=jRaft-Controller jRaftInitConf= jRaftScanWaitTimeoutMs=1000 jRaftServerId=
    jRaftSnapshotIntervalSecs=3600 listenPort mappedFileSize=1073741824
    metricGrpcExporterIntervalInMills=60000 metricGrpcExporterTimeOutInMills=3000
    metricLoggingExporterIntervalInMills=10000 metricsExporterType=DISABLE
    metricsGrpcExporterHeader= metricsGrpcExporterTarget= metricsInDelta=false metricsLabel=
    metricsPromExporterHost= metricsPromExporterPort=5557 notifyBrokerRoleChanged
    processReadEvent=false rocketmqHome scanInactiveMasterInterval=5000
    scanNotActiveBrokerInterval serverAsyncSemaphoreValue=64 serverCallbackExecutorThreads=0
    serverChannelMaxIdleTimeSeconds serverOnewaySemaphoreValue=256
    serverPooledByteBufAllocatorEnable=true serverSelectorThreads=3 serverSocketBacklog=1024
    serverSocketRcvBufSize=0 serverSocketSndBufSize=0 serverWorkerThreads=8
    useEpollNativeSelector=false writeBufferHighWaterMark=0 writeBufferLowWaterMark=0
"""

CONTROLLER_KEYS: Final = _keys(_CONTROLLER)
"""Keys of a controller configuration file (5.4.0)."""


def broker_defaults(cpu_count: int) -> dict[str, str]:
    """Return Java's defaults of the broker keys that have no effect here.

    Args:
        cpu_count: processors of this machine; sizes of thread pools depend on it.
    """
    sends = min(cpu_count, 4)
    return _defaults(_BROKER) | {
        "clientCallbackExecutorThreads": str(cpu_count),
        "endTransactionThreadPoolNums": str(max(8 + 2 * cpu_count, 4 * sends)),
        "heartbeatThreadPoolNums": str(min(32, cpu_count)),
        "processReplyMessageThreadPoolNums": str(16 + 2 * cpu_count),
        "pullMessageThreadPoolNums": str(16 + 2 * cpu_count),
        "putMessageFutureThreadPoolNums": str(sends),
        "queryMessageThreadPoolNums": str(8 + cpu_count),
        "sendMessageThreadPoolNums": str(sends),
    }


def namesrv_defaults() -> dict[str, str]:
    """Return Java's defaults of the name server keys that have no effect here."""
    return _defaults(_NAMESRV)


def controller_defaults() -> dict[str, str]:
    """Return Java's defaults of the controller keys that have no effect here."""
    return _defaults(_CONTROLLER)
