"""Every configuration key that RocketMQ 4.9.7 reads from a broker or name server file.

Rule: a key listed here and used by no config of ours is accepted with a warning, so that
a working broker.conf keeps working; a key not listed is a mistake (``settings``).

Source: the setters of common/BrokerConfig.java, store/config/MessageStoreConfig.java,
remoting/netty/NettyServerConfig.java, remoting/netty/NettyClientConfig.java and
common/namesrv/NamesrvConfig.java; ``enableBatchPush`` is the setter of isEnableBatchPush.
"""

from typing import Final

_BROKER = """
    accessMessageInMemoryMaxRatio aclEnable adminBrokerThreadPoolNums
    autoCreateSubscriptionGroup autoCreateTopicEnable autoDeleteUnusedStats
    bitMapLengthConsumeQueueExt brokerClusterName brokerFastFailureEnable brokerIP1
    brokerIP2 brokerId brokerName brokerPermission brokerRole brokerTopicEnable
    channelNotActiveInterval checkCRCOnRecover cleanFileForciblyEnable cleanResourceInterval
    clientAsyncSemaphoreValue clientCallbackExecutorThreads clientChannelMaxIdleTimeSeconds
    clientCloseSocketIfTimeout clientManageThreadPoolNums
    clientManagerThreadPoolQueueCapacity clientOnewaySemaphoreValue
    clientPooledByteBufAllocatorEnable clientSocketRcvBufSize clientSocketSndBufSize
    clientWorkerThreads clusterTopicEnable commercialBaseCount commercialBigCount
    commercialEnable commercialTimerCount commercialTransCount commitCommitLogLeastPages
    commitCommitLogThoroughInterval commitIntervalCommitLog compressedRegister
    connectTimeoutMillis consumerFallbehindThreshold consumerManageThreadPoolNums
    consumerManagerThreadPoolQueueCapacity dLegerGroup dLegerPeers dLegerSelfId
    debugLockEnable defaultQueryMaxNum defaultTopicQueueNums deleteCommitLogFilesInterval
    deleteConsumeQueueFilesInterval deleteWhen destroyMapedFileIntervalForcibly
    disableConsumeIfConsumerReadSlowly diskFallRecorded diskMaxUsedSpaceRatio
    duplicationEnable enableBatchPush enableCalcFilterBitMap enableConsumeQueueExt
    enableDLegerCommitLog enableDetailStat enableLmq enableMultiDispatch
    enablePropertyFilter enableScheduleAsyncDeliver enableScheduleMessageStats
    endTransactionPoolQueueCapacity endTransactionThreadPoolNums expectConsumerNumUseFilter
    fastFailIfNoBufferInStorePool fetchNamesrvAddrByAddressServer fileReservedTime
    filterDataCleanTimeSpan filterServerNums filterSupportRetry flushCommitLogLeastPages
    flushCommitLogThoroughInterval flushCommitLogTimed flushConsumeQueueLeastPages
    flushConsumeQueueThoroughInterval flushConsumerOffsetHistoryInterval
    flushConsumerOffsetInterval flushDelayOffsetInterval flushDiskType
    flushIntervalCommitLog flushIntervalConsumeQueue flushLeastPagesWhenWarmMapedFile
    forceRegister haHousekeepingInterval haListenPort haMasterAddress
    haSendHeartbeatInterval haSlaveFallbehindMax haTransferBatchSize heartbeatThreadPoolNums
    heartbeatThreadPoolQueueCapacity highSpeedMode isolateLogEnable listenPort
    longPollingEnable mappedFileSizeCommitLog mappedFileSizeConsumeQueue
    mappedFileSizeConsumeQueueExt maxDelayTime maxErrorRateOfBloomFilter maxHashSlotNum
    maxIndexNum maxLmqConsumeQueueNum maxMessageSize maxMsgsNumBatch
    maxTransferBytesOnMessageInDisk maxTransferBytesOnMessageInMemory
    maxTransferCountOnMessageInDisk maxTransferCountOnMessageInMemory messageDelayLevel
    messageIndexEnable messageIndexSafe messageStorePlugIn msgTraceTopicName namesrvAddr
    notifyConsumerIdsChangedEnable offsetCheckInSlave osPageCacheBusyTimeOutMills
    preferredLeaderId processReplyMessageThreadPoolNums pullMessageThreadPoolNums
    pullThreadPoolQueueCapacity putMessageFutureThreadPoolNums putMsgIndexHightWater
    putThreadPoolQueueCapacity queryMessageThreadPoolNums queryThreadPoolQueueCapacity
    readOnlyCommitLogStorePaths redeleteHangedFileInterval regionId
    registerBrokerTimeoutMills registerNameServerPeriod rejectTransactionMessage
    replyThreadPoolQueueCapacity rocketmqHome scheduleAsyncDeliverMaxPendingLimit
    scheduleAsyncDeliverMaxResendNum2Blocked sendMessageThreadPoolNums
    sendThreadPoolQueueCapacity serverAsyncSemaphoreValue serverCallbackExecutorThreads
    serverChannelMaxIdleTimeSeconds serverOnewaySemaphoreValue
    serverPooledByteBufAllocatorEnable serverSelectorThreads serverSocketBacklog
    serverSocketRcvBufSize serverSocketSndBufSize serverWorkerThreads shortPollingTimeMills
    slaveReadEnable slaveTimeout startAcceptSendRequestTimeStamp storePathCommitLog
    storePathDLedgerCommitLog storePathRootDir storeReplyMessageEnable syncFlushTimeout
    traceOn traceTopicEnable transactionCheckInterval transactionCheckMax transactionTimeOut
    transferMsgByHeap transientStorePoolEnable transientStorePoolSize useEpollNativeSelector
    useReentrantLockWhenPutMessage useTLS waitTimeMillsInHeartbeatQueue
    waitTimeMillsInPullQueue waitTimeMillsInSendQueue waitTimeMillsInTransactionQueue
    warmMapedFileEnable writeBufferHighWaterMark writeBufferLowWaterMark
"""

BROKER_KEYS: Final = frozenset(_BROKER.split())
"""Keys of a broker.conf; one flat key space over four Java classes."""

_NAMESRV = """
    clusterTest configStorePath kvConfigPath listenPort orderMessageEnable productEnvName
    rocketmqHome serverAsyncSemaphoreValue serverCallbackExecutorThreads
    serverChannelMaxIdleTimeSeconds serverOnewaySemaphoreValue
    serverPooledByteBufAllocatorEnable serverSelectorThreads serverSocketBacklog
    serverSocketRcvBufSize serverSocketSndBufSize serverWorkerThreads useEpollNativeSelector
    writeBufferHighWaterMark writeBufferLowWaterMark
"""

NAMESRV_KEYS: Final = frozenset(_NAMESRV.split())
"""Keys of a name server configuration file."""
