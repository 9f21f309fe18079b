# Completion of mqadmin for bash. Made by `mqadmin completion bash`; do not edit.
#   source <(mqadmin completion bash)     or copy it to /etc/bash_completion.d/mqadmin

__mq_globals='--namesrv --context --output --columns --sort --compat --no-headers --watch --timeout --yes --dry-run --no-color --verbose --explain --access-key --secret-key --schema --help --version'
__mq_global_values='--namesrv=|-n=|--context=@context|--output=table json jsonl yaml msgpack csv name|-o=table json jsonl yaml msgpack csv name|--columns=|--sort=|--compat=|--watch=|--timeout=|--access-key=|--secret-key='

# What may follow the words of a command: more words, options, arguments.
__mqadmin_of() {
  words='' options='' values='' arguments='' repeats=''
  case "$1" in
    '')
      words='acl apply assert broker cluster completion context dead-letter delay diff doctor embedded export exporter group ha lock message namesrv offset pipeline queue rebalance shell store top topic transaction undo wait'
      ;;
    'acl')
      words='delete list set show version white-addr'
      ;;
    'acl delete')
      options='--broker --cluster'
      values='--broker=@broker|-b=@broker|--cluster=@cluster'
      arguments='|'
      ;;
    'acl list')
      options='--broker --cluster'
      values='--broker=@broker|-b=@broker|--cluster=@cluster'
      ;;
    'acl set')
      options='--secret --admin --topic-perm --group-perm --default-topic-perm --default-group-perm --white-addr --replace --broker --cluster'
      values='--secret=|--admin=true false|--topic-perm=|--group-perm=|--default-topic-perm=DENY PUB SUB PUB|SUB SUB|PUB|--default-group-perm=DENY PUB SUB PUB|SUB SUB|PUB|--white-addr=|--broker=@broker|-b=@broker|--cluster=@cluster'
      arguments='|'
      ;;
    'acl show')
      options='--broker --cluster'
      values='--broker=@broker|-b=@broker|--cluster=@cluster'
      arguments='|'
      ;;
    'acl version')
      options='--broker --cluster'
      values='--broker=@broker|-b=@broker|--cluster=@cluster'
      ;;
    'acl white-addr')
      options='--file --broker --cluster'
      values='--file=|--broker=@broker|-b=@broker|--cluster=@cluster'
      arguments='|'
      repeats=1
      ;;
    'apply')
      options='--prune --cluster'
      values='--cluster=@cluster'
      arguments='@file|'
      ;;
    'assert')
      words='group lag message-count topic'
      ;;
    'assert group')
      options='--members --within'
      values='--members=|--within='
      arguments='@group|'
      ;;
    'assert lag')
      options='--max --within'
      values='--max=|--within='
      arguments='@group|@topic|'
      ;;
    'assert message-count')
      options='--min --max --within'
      values='--min=|--max=|--within='
      arguments='@topic||'
      ;;
    'assert topic')
      options='--queues --absent --within'
      values='--queues=|--within='
      arguments='@topic|'
      ;;
    'broker')
      words='clean config connections consume-stats demote list promote stats status write-perm'
      ;;
    'broker clean')
      words='expired-log expired-queues unused-topics'
      ;;
    'broker clean expired-log')
      options='--broker --cluster'
      values='--broker=@broker|-b=@broker|--cluster=@cluster'
      ;;
    'broker clean expired-queues')
      options='--broker --cluster'
      values='--broker=@broker|-b=@broker|--cluster=@cluster'
      ;;
    'broker clean unused-topics')
      options='--broker --cluster'
      values='--broker=@broker|-b=@broker|--cluster=@cluster'
      ;;
    'broker config')
      words='get set'
      ;;
    'broker config get')
      options='--broker --cluster'
      values='--broker=@broker|-b=@broker|--cluster=@cluster'
      arguments='|'
      repeats=1
      ;;
    'broker config set')
      options='--broker --cluster'
      values='--broker=@broker|-b=@broker|--cluster=@cluster'
      arguments='||'
      ;;
    'broker connections')
      options='--broker --cluster --topic --kind --group'
      values='--broker=@broker|-b=@broker|--cluster=@cluster|--topic=@topic|--kind=producer consumer|--group=@group|-g=@group'
      ;;
    'broker consume-stats')
      options='--broker --cluster --min-lag --order'
      values='--broker=@broker|-b=@broker|--cluster=@cluster|--min-lag=|--order=true false'
      ;;
    'broker demote')
      options='--broker-id --cut-tail --force'
      values='--broker-id='
      arguments='@broker|'
      ;;
    'broker list')
      options='--cluster'
      values='--cluster=@cluster'
      ;;
    'broker promote')
      options='--role --force'
      values='--role=ASYNC_MASTER SYNC_MASTER'
      arguments='@broker|'
      ;;
    'broker stats')
      options='--broker --cluster'
      values='--broker=@broker|-b=@broker|--cluster=@cluster'
      arguments='||'
      ;;
    'broker status')
      options='--broker --cluster'
      values='--broker=@broker|-b=@broker|--cluster=@cluster'
      arguments='|'
      repeats=1
      ;;
    'broker write-perm')
      words='add wipe'
      ;;
    'broker write-perm add')
      arguments='@broker|'
      ;;
    'broker write-perm wipe')
      arguments='@broker|'
      ;;
    'cluster')
      words='list rt status'
      ;;
    'cluster list')
      options='--totals'
      arguments='@cluster|'
      ;;
    'cluster rt')
      options='--cluster --count --size --every --log --room'
      values='--cluster=@cluster|--count=|--size=|--every=|--room='
      ;;
    'cluster status')
      options='--cluster'
      values='--cluster=@cluster'
      ;;
    'completion')
      words='names'
      arguments='bash zsh fish|'
      ;;
    'completion names')
      options='--refresh'
      arguments='topic group broker cluster context client|'
      ;;
    'context')
      words='add list remove show use'
      ;;
    'context add')
      options='--protected --unprotected --map --tls --tls-ca --tls-cert --tls-key --no-tls --default-output --default-timeout --use'
      values='--map=|--tls-ca=@file|--tls-cert=@file|--tls-key=@file|--default-output=table json jsonl yaml msgpack csv name|--default-timeout='
      arguments='@context||'
      ;;
    'context list')
      ;;
    'context remove')
      arguments='@context|'
      ;;
    'context show')
      options='--show-secrets'
      arguments='@context|'
      ;;
    'context use')
      arguments='@context|'
      ;;
    'dead-letter')
      words='list resend show'
      ;;
    'dead-letter list')
      options='--all'
      arguments='@group|'
      ;;
    'dead-letter resend')
      options='--from --to --topic --tag --key --id --limit --into --rate --producer'
      values='--from=|--to=|--topic=@topic|--tag=|-t=|--key=|-k=|--id=|--limit=|-c=|--into=@topic|--rate=|--producer=@group'
      arguments='@group|'
      ;;
    'dead-letter show')
      options='--from --to --topic --tag --key --id --limit --no-body'
      values='--from=|--to=|--topic=@topic|--tag=|-t=|--key=|-k=|--id=|--limit=|-c='
      arguments='@group|'
      ;;
    'delay')
      words='list'
      ;;
    'delay list')
      options='--broker --waiting'
      values='--broker=@broker'
      ;;
    'diff')
      options='--cluster'
      values='--cluster=@cluster'
      arguments='@file|@file|'
      ;;
    'doctor')
      options='--check --fail-on --slave-lag --backlog --skew'
      values='--check=address master disk clock slave route subscription queue backlog namesrv|-c=address master disk clock slave route subscription queue backlog namesrv|--fail-on=error warning info never|--slave-lag=|--backlog=|--skew='
      ;;
    'embedded')
      options='--store --port --broker-port'
      values='--store=@dir|--port=|--broker-port='
      ;;
    'export')
      words='configs metadata metrics'
      options='--cluster'
      values='--cluster=@cluster'
      ;;
    'export configs')
      options='--cluster --directory'
      values='--cluster=@cluster|--directory=@dir|-d=@dir'
      ;;
    'export metadata')
      options='--cluster --broker --only --special --directory'
      values='--cluster=@cluster|--broker=@broker|-b=@broker|--only=topics groups|--directory=@dir|-d=@dir'
      ;;
    'export metrics')
      options='--cluster --directory'
      values='--cluster=@cluster|--directory=@dir|-d=@dir'
      ;;
    'exporter')
      options='--port --host --once'
      values='--port=|-p=|--host='
      ;;
    'group')
      words='config create delete import lag list running show tps update'
      ;;
    'group config')
      arguments='@group|'
      ;;
    'group create')
      options='--retry-max --retry-queues --disabled --no-broadcast --cluster --broker'
      values='--retry-max=|--retry-queues=|--cluster=@cluster|--broker=@broker'
      arguments='@group|'
      ;;
    'group delete')
      options='--offsets --topics --cluster --broker'
      values='--cluster=@cluster|--broker=@broker'
      arguments='@group|'
      ;;
    'group import')
      options='--cluster --broker'
      values='--cluster=@cluster|--broker=@broker'
      arguments='@file|'
      ;;
    'group lag')
      options='--no-clients'
      arguments='@group|@topic|'
      ;;
    'group list')
      options='--all'
      ;;
    'group running')
      options='--client --jstack --broker'
      values='--client=@client|--broker=@broker'
      arguments='@group|'
      ;;
    'group show')
      options='--broker'
      values='--broker=@broker'
      arguments='@group|'
      ;;
    'group tps')
      options='--topic --active'
      values='--topic=@topic'
      arguments='@group|'
      ;;
    'group update')
      options='--consume --from-min --broadcast --retry-max --retry-queues --broker-id --slow-broker-id --notify --replace --create --cluster --broker'
      values='--consume=true false|--from-min=true false|--broadcast=true false|--retry-max=|--retry-queues=|--broker-id=|--slow-broker-id=|--notify=true false|--cluster=@cluster|--broker=@broker'
      arguments='@group|'
      ;;
    'ha')
      words='status'
      ;;
    'ha status')
      options='--broker --cluster'
      values='--broker=@broker|-b=@broker|--cluster=@cluster'
      ;;
    'lock')
      words='list'
      ;;
    'lock list')
      options='--group --topic --no-waiting'
      values='--group=@group|-g=@group|--topic=@topic'
      ;;
    'message')
      words='bench consume-direct decode-id export get import print query resend send tail trace'
      ;;
    'message bench')
      options='--count --duration --size --threads --rate --tag --each --group'
      values='--count=|-c=|--duration=|--size=|-s=|--threads=|--rate=|--tag=|-t=|--group=@group'
      arguments='@topic|'
      ;;
    'message consume-direct')
      options='--client --topic'
      values='--client=@client|--topic=@topic'
      arguments='|@group|'
      ;;
    'message decode-id')
      arguments='|'
      repeats=1
      ;;
    'message export')
      options='--to --format --resume --queue --from --until --tag --limit --no-body'
      values='--to=@file|-f=@file|--format=jsonl csv parquet|--queue=|--from=|--until=|--tag=|-t=|--limit=|-c='
      arguments='@topic|'
      ;;
    'message get')
      options='--topic --no-body'
      values='--topic=@topic|-t=@topic'
      arguments='|'
      ;;
    'message import')
      options='--to --resume --rate --limit --group'
      values='--to=@topic|--rate=|--limit=|-c=|--group=@group'
      arguments='@file|'
      ;;
    'message print')
      options='--broker --from --to --start --tag --key --property --grep --json --limit --bytes --scan --count-tags --no-body'
      values='--broker=@broker|--from=|--to=|--start=|--tag=|-t=|--key=|-k=|--property=|-p=|--grep=|--json=|--limit=|-c=|--bytes=|--scan='
      arguments='@topic||'
      ;;
    'message query')
      words='id key offset time unique-key'
      ;;
    'message query id')
      options='--topic --no-body'
      values='--topic=@topic'
      arguments='|'
      repeats=1
      ;;
    'message query key')
      options='--from --to --count --no-body'
      values='--from=|--to=|--count=|-c='
      arguments='@topic||'
      ;;
    'message query offset')
      options='--broker --no-body'
      values='--broker=@broker'
      arguments='@topic|||'
      ;;
    'message query time')
      options='--from --to --limit --no-body'
      values='--from=|--to=|--limit=|-c='
      arguments='@topic|'
      ;;
    'message query unique-key')
      options='--from --to --all --no-body'
      values='--from=|--to='
      arguments='@topic||'
      ;;
    'message resend')
      options='--topic --to --group'
      values='--topic=@topic|--to=@topic|--group=@group'
      arguments='|'
      repeats=1
      ;;
    'message send')
      options='--file --tag --key --property --queue --broker --delay-level --group --trace'
      values='--file=@file|-f=@file|--tag=|-t=|--key=|-k=|--property=|-p=|--queue=|--broker=@broker|--delay-level=|--group=@group'
      arguments='@topic||'
      ;;
    'message tail')
      options='--from --count --bytes --scan --tag --grep --key --property --json --queue --no-follow --no-body'
      values='--from=|--count=|-c=|--bytes=|--scan=|--tag=|-t=|--grep=|--key=|-k=|--property=|-p=|--json=|--queue='
      arguments='@topic|'
      ;;
    'message trace')
      options='--topic --trace-topic'
      values='--topic=@topic|-t=@topic|--trace-topic=@topic'
      arguments='|'
      ;;
    'namesrv')
      words='config kv'
      ;;
    'namesrv config')
      words='get set'
      ;;
    'namesrv config get')
      arguments='|'
      repeats=1
      ;;
    'namesrv config set')
      arguments='||'
      ;;
    'namesrv kv')
      words='delete get set'
      ;;
    'namesrv kv delete')
      arguments='||'
      ;;
    'namesrv kv get')
      arguments='||'
      ;;
    'namesrv kv set')
      arguments='|||'
      ;;
    'offset')
      words='clone export import reset show skip'
      ;;
    'offset clone')
      options='--topic'
      values='--topic=@topic'
      arguments='@group|@group|'
      ;;
    'offset export')
      options='--to --topic'
      values='--to=@file|-f=@file|--topic=@topic'
      arguments='@group|'
      repeats=1
      ;;
    'offset import')
      options='--group --broker'
      values='--group=@group|--broker=@broker'
      arguments='@file|'
      ;;
    'offset reset')
      options='--to --queue --broker --cpp'
      values='--to=|--queue=|--broker=@broker'
      arguments='@group|@topic|'
      ;;
    'offset show')
      arguments='@group|@topic|'
      ;;
    'offset skip')
      options='--queue'
      values='--queue='
      arguments='@group|@topic||'
      ;;
    'pipeline')
      words='archive diff duplicates events extract grep lag rebuild restore rewind stats timeline trace verify'
      ;;
    'pipeline archive')
      options='--engine --master --parquet --topic --pattern --start --tags --commit-every --commit-bytes --allow-loss --report'
      values='--engine=spark local|--master=|--parquet=@file|--topic=@topic|--pattern=|--start=|--tags=|--commit-every=|--commit-bytes=|--report=@group'
      arguments='|'
      ;;
    'pipeline diff')
      options='--engine --master --parquet --store'
      values='--engine=spark local|--master=|--parquet=@file|--store=@dir'
      arguments='@dir|@dir|'
      ;;
    'pipeline duplicates')
      options='--engine --master --parquet --store'
      values='--engine=spark local|--master=|--parquet=@file|--store=@dir'
      arguments='@dir|'
      ;;
    'pipeline events')
      options='--engine --master --parquet --pause --store'
      values='--engine=spark local|--master=|--parquet=@file|--pause=|--store=@dir'
      arguments='@dir|'
      ;;
    'pipeline extract')
      options='--engine --master --parquet --to --format --topic --tag --key --from --until --body --store'
      values='--engine=spark local|--master=|--parquet=@file|--to=@dir|--format=parquet jsonl files|--topic=@topic|--tag=|--key=|-k=|--from=|--until=|--body=|--store=@dir'
      arguments='@dir|@dir|'
      repeats=1
      ;;
    'pipeline grep')
      options='--engine --master --parquet --mask --store'
      values='--engine=spark local|--master=|--parquet=@file|--store=@dir'
      arguments='@dir||'
      ;;
    'pipeline lag')
      options='--engine --master --parquet --offsets --store'
      values='--engine=spark local|--master=|--parquet=@file|--offsets=|--store=@dir'
      arguments='@dir|@dir|'
      repeats=1
      ;;
    'pipeline rebuild')
      options='--engine --master --parquet --to --no-index --store'
      values='--engine=spark local|--master=|--parquet=@file|--to=@dir|--store=@dir'
      arguments='@dir|@dir|'
      repeats=1
      ;;
    'pipeline restore')
      options='--engine --master --parquet --topic --to --broker --file-size --to-topic --keep-queues'
      values='--engine=spark local|--master=|--parquet=@file|--topic=@topic|--to=@dir|--broker=|--file-size=|--to-topic=@topic'
      arguments='|'
      ;;
    'pipeline rewind')
      words='plan'
      ;;
    'pipeline rewind plan')
      options='--engine --master --parquet --to --group --topic --store'
      values='--engine=spark local|--master=|--parquet=@file|--to=|--group=@group|-g=@group|--topic=@topic|-t=@topic|--store=@dir'
      arguments='@dir|@dir|'
      repeats=1
      ;;
    'pipeline stats')
      options='--engine --master --parquet --by --store'
      values='--engine=spark local|--master=|--parquet=@file|--by=queue producer tag|-b=queue producer tag|--store=@dir'
      arguments='@dir|'
      ;;
    'pipeline timeline')
      options='--engine --master --parquet --every --topic --from --to --store'
      values='--engine=spark local|--master=|--parquet=@file|--every=|--topic=@topic|-t=@topic|--from=|--to=|--store=@dir'
      arguments='@dir|'
      ;;
    'pipeline trace')
      options='--engine --master --parquet --topic --scan --store'
      values='--engine=spark local|--master=|--parquet=@file|--topic=@topic|-t=@topic|--store=@dir'
      arguments='@dir||@dir|'
      repeats=1
      ;;
    'pipeline verify')
      options='--engine --master --parquet --deep --store'
      values='--engine=spark local|--master=|--parquet=@file|--store=@dir'
      arguments='@dir|@dir|'
      repeats=1
      ;;
    'queue')
      words='show'
      ;;
    'queue show')
      options='--start --count --group --broker'
      values='--start=|--count=|-c=|--group=@group|--broker=@broker'
      arguments='@topic||'
      ;;
    'rebalance')
      words='plan show watch'
      ;;
    'rebalance plan')
      options='--strategy --add --remove --queues --no-picture --room'
      values='--strategy=AVG AVG_BY_CIRCLE CONSISTENT_HASH MACHINE_ROOM MACHINE_ROOM_NEARBY|-s=AVG AVG_BY_CIRCLE CONSISTENT_HASH MACHINE_ROOM MACHINE_ROOM_NEARBY|--add=|--remove=@client|--queues=|--room='
      arguments='@group|@topic|'
      ;;
    'rebalance show')
      arguments='@group|@topic|'
      ;;
    'rebalance watch')
      options='--interval --for'
      values='--interval=|--for='
      arguments='@group|@topic|'
      ;;
    'shell')
      options='--command --embedded --store --keep-going'
      values='--command=|-c=|--store=@dir'
      arguments='@file|'
      ;;
    'store')
      words='carve checkpoint config diff events export get hexdump index info log ls offsets query queue rebuild repair report seal stats tail timeline trace verify'
      ;;
    'store carve')
      options='--to --log-file-size --no-crc --copies --no-body --inflate --store'
      values='--to=@dir|--log-file-size=|--store=@dir'
      arguments='@dir|'
      ;;
    'store checkpoint')
      options='--store'
      values='--store=@dir'
      arguments='@dir|'
      ;;
    'store config')
      options='--name --store'
      values='--name=|--store=@dir'
      arguments='@dir||'
      ;;
    'store diff')
      options='--store'
      values='--store=@dir'
      arguments='@dir|@dir|'
      ;;
    'store events')
      options='--pause --store'
      values='--pause=|--store=@dir'
      arguments='@dir|'
      ;;
    'store export')
      options='--topic --queue --key --tag --producer --from --log-offset --limit --no-body --inflate --to --format --resume --until --store'
      values='--topic=@topic|--queue=|--key=|-k=|--tag=|--producer=|--from=|--log-offset=|--limit=|-c=|--to=@file|-f=@file|--format=jsonl csv parquet|--until=|--store=@dir'
      arguments='@dir|'
      ;;
    'store get')
      options='--no-body --inflate --store'
      values='--store=@dir'
      arguments='@dir||'
      ;;
    'store hexdump')
      options='--file --pos --count --whole --store'
      values='--file=@file|--pos=|--count=|-c=|--store=@dir'
      arguments='@dir||'
      ;;
    'store index')
      options='--limit --store'
      values='--limit=|-c=|--store=@dir'
      arguments='@dir||'
      ;;
    'store info')
      options='--whole --store'
      values='--store=@dir'
      arguments='@dir|'
      ;;
    'store log')
      options='--topic --queue --key --tag --producer --from --log-offset --limit --no-body --inflate --to --store'
      values='--topic=@topic|--queue=|--key=|-k=|--tag=|--producer=|--from=|--log-offset=|--limit=|-c=|--to=|--store=@dir'
      arguments='@dir|'
      ;;
    'store ls')
      options='--store'
      values='--store=@dir'
      arguments='@dir|'
      ;;
    'store offsets')
      options='--group --topic --store'
      values='--group=@group|-g=@group|--topic=@topic|--store=@dir'
      arguments='@dir|'
      ;;
    'store query')
      words='key'
      options='--from --to --limit --no-body --inflate --store'
      values='--from=|--to=|--limit=|-c=|--store=@dir'
      arguments='@dir|@topic||'
      ;;
    'store query key')
      options='--from --to --limit --no-body --inflate --store'
      values='--from=|--to=|--limit=|-c=|--store=@dir'
      arguments='@dir|@topic||'
      ;;
    'store queue')
      options='--start --limit --store'
      values='--start=|--limit=|-c=|--store=@dir'
      arguments='@dir|@topic||'
      ;;
    'store rebuild')
      options='--to --queue-file-size --index-slots --index-entries --delay-levels --no-index --store'
      values='--to=@dir|--queue-file-size=|--index-slots=|--index-entries=|--delay-levels=|--store=@dir'
      arguments='@dir|'
      ;;
    'store repair')
      options='--to --queue-file-size --index-slots --index-entries --delay-levels --store'
      values='--to=@dir|--queue-file-size=|--index-slots=|--index-entries=|--delay-levels=|--store=@dir'
      arguments='@dir|'
      ;;
    'store report')
      options='--html --deep --replace --store'
      values='--html=@file|--store=@dir'
      arguments='@dir|'
      ;;
    'store seal')
      options='--to --jobs --store'
      values='--to=@dir|--jobs=|--store=@dir'
      arguments='@dir|'
      ;;
    'store stats')
      options='--by --topic --from --to --limit --jobs --store'
      values='--by=topic queue tag producer hour|-b=topic queue tag producer hour|--topic=@topic|-t=@topic|--from=|--to=|--limit=|-c=|--jobs=|--store=@dir'
      arguments='@dir|'
      ;;
    'store tail')
      options='--topic --key --tag --from --count --no-follow --no-body --inflate --store'
      values='--topic=@topic|-t=@topic|--key=|-k=|--tag=|--from=|--count=|-c=|--store=@dir'
      arguments='@dir|'
      ;;
    'store timeline')
      options='--every --topic --from --to --jobs --store'
      values='--every=|--topic=@topic|-t=@topic|--from=|--to=|--jobs=|--store=@dir'
      arguments='@dir|'
      ;;
    'store trace')
      options='--topic --scan --no-body --inflate --store'
      values='--topic=@topic|-t=@topic|--store=@dir'
      arguments='@dir||'
      ;;
    'store verify')
      options='--deep --checksums --jobs --store'
      values='--checksums=@dir|--jobs=|--store=@dir'
      arguments='@dir|'
      ;;
    'top')
      options='--interval --once'
      values='--interval='
      ;;
    'topic')
      words='clusters consumers create delete import list order-conf perm route show status update'
      ;;
    'topic clusters')
      arguments='@topic|'
      ;;
    'topic consumers')
      arguments='@topic|'
      ;;
    'topic create')
      options='--queues --read-queues --write-queues --perm --order --cluster --broker'
      values='--queues=|-q=|--read-queues=|--write-queues=|--perm=|--cluster=@cluster|--broker=@broker'
      arguments='@topic|'
      ;;
    'topic delete')
      options='--cluster'
      values='--cluster=@cluster'
      arguments='@topic|'
      ;;
    'topic import')
      options='--cluster --broker'
      values='--cluster=@cluster|--broker=@broker'
      arguments='@file|'
      ;;
    'topic list')
      options='--kind --cluster --groups'
      values='--kind=normal retry dead_letter system|--cluster=@cluster'
      ;;
    'topic order-conf')
      options='--method'
      values='--method=get put delete'
      arguments='@topic||'
      ;;
    'topic perm')
      options='--cluster --broker'
      values='--cluster=@cluster|--broker=@broker'
      arguments='@topic||'
      ;;
    'topic route')
      options='--brief'
      arguments='@topic|'
      ;;
    'topic show')
      arguments='@topic|'
      ;;
    'topic status')
      arguments='@topic|'
      ;;
    'topic update')
      options='--queues --read-queues --write-queues --perm --order --unit --unit-sub --replace --create --cluster --broker'
      values='--queues=|-q=|--read-queues=|--write-queues=|--perm=|--order=true false|--unit=true false|--unit-sub=true false|--cluster=@cluster|--broker=@broker'
      arguments='@topic|'
      ;;
    'transaction')
      words='list'
      ;;
    'transaction list')
      options='--topic'
      values='--topic=@topic'
      ;;
    'undo')
      options='--list'
      arguments='|'
      ;;
    'wait')
      words='broker group lag topic'
      ;;
    'wait broker')
      options='--count --within'
      values='--count=|--within='
      arguments='@broker|'
      ;;
    'wait group')
      options='--members --within'
      values='--members=|--within='
      arguments='@group|'
      ;;
    'wait lag')
      options='--max --within'
      values='--max=|--within='
      arguments='@group|@topic|'
      ;;
    'wait topic')
      options='--queues --absent --within'
      values='--queues=|--within='
      arguments='@topic|'
      ;;
  esac
}

# Sets __mq_reply to what may stand at the end of the words "$@" (without the program's name).
__mqadmin_complete() {
  local path='' words='' options='' values='' arguments='' repeats='' pending='' word count=0
  local current="${@: -1}" at wanted=''
  __mq_reply=() __mq_paths=''
  __mqadmin_of ''
  for ((at = 1; at < $#; at++)); do
    word="${!at}"
    if [[ -n $pending ]]; then pending=''; continue; fi
    case "$word" in
      --*=*) ;;
      -?*) __mqadmin_value "$word" && pending="$word" ;;
      *)
        if [[ " $words " == *" $word "* && $count -eq 0 ]]; then
          path="${path:+$path }$word"
          __mqadmin_of "$path"
        else
          count=$((count + 1))
        fi ;;
    esac
  done
  if [[ -n $pending ]]; then
    __mqadmin_value "$pending" && wanted="$__mq_value"
  elif [[ $current == -* ]]; then
    wanted="$options $__mq_globals"
  else
    local -a places
    IFS='|' read -r -a places <<< "$arguments"
    if [[ -n $repeats && $count -ge ${#places[@]} ]]; then count=$((${#places[@]} - 1)); fi
    [[ $count -eq 0 ]] && wanted="$words "
    [[ $count -lt ${#places[@]} ]] && wanted+="${places[$count]}"
  fi
  __mqadmin_matching "$current" $wanted
}

# Sets __mq_value to what the option may be given; fails where it takes nothing.
__mqadmin_value() {
  local entry
  local IFS='|'
  for entry in $values $__mq_global_values; do
    if [[ $entry == "$1="* ]]; then __mq_value="${entry#*=}"; return 0; fi
  done
  return 1
}

__mqadmin_matching() {
  local typed="$1" word
  shift
  for word in "$@"; do
    case "$word" in
      @file | @dir) __mq_paths="$word" ;;
      @*)
        while IFS= read -r word; do
          [[ $word == "$typed"* ]] && __mq_reply+=("$word")
        done < <(mqadmin completion names "${word#@}" -o name 2>/dev/null) ;;
      *) [[ $word == "$typed"* ]] && __mq_reply+=("$word") ;;
    esac
  done
}

_mqadmin() {
  local -a __mq_reply
  local __mq_paths
  __mqadmin_complete "${COMP_WORDS[@]:1:COMP_CWORD}"
  COMPREPLY=("${__mq_reply[@]}")
  if [[ $__mq_paths == @dir ]]; then
    compopt -o filenames 2>/dev/null
    COMPREPLY+=($(compgen -d -- "${COMP_WORDS[COMP_CWORD]}"))
  elif [[ -n $__mq_paths ]]; then
    compopt -o filenames 2>/dev/null
    COMPREPLY+=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"))
  fi
}
complete -F _mqadmin mqadmin
