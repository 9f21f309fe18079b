# Completion of mqadmin for fish. Made by `mqadmin completion fish`; do not edit.
#   mqadmin completion fish > ~/.config/fish/completions/mqadmin.fish

# Whether the words before the cursor are these, and argument number $argv[2] comes next.
function __mqadmin_at
    set -l known $__mqadmin_paths
    set -l path
    set -l count 0
    set -l pending 0
    for word in (commandline -opc)[2..-1]
        if test $pending -eq 1
            set pending 0
        else if string match -qr -- '^--.*=' $word
            continue
        else if string match -q -- '-?*' $word
            contains -- $word $__mqadmin_with_value; and set pending 1
        else if test $count -eq 0; and contains -- (string join ' ' $path $word) $known
            set path $path $word
        else
            set count (math $count + 1)
        end
    end
    test "$path" = "$argv[1]"; or return 1
    test (count $argv) -lt 2; and return 0
    test $count -eq $argv[2]; and return 0
    test (count $argv) -gt 2; and test $count -ge $argv[2]
end

function __mqadmin_names
    mqadmin completion names $argv[1] -o name 2>/dev/null
end

complete -c mqadmin -f

set -g __mqadmin_with_value --access-key --add --admin --backlog --body --broadcast --broker --broker-id --broker-port --by --bytes --check --checksums --client --cluster --columns --command --commit-bytes --commit-every --compat --consume --context --count --default-group-perm --default-output --default-timeout --default-topic-perm --delay-level --delay-levels --directory --duration --engine --every --fail-on --file --file-size --for --format --from --from-min --grep --group --group-perm --host --html --id --index-entries --index-slots --interval --into --jobs --json --key --kind --limit --log-file-size --log-offset --map --master --max --members --method --min --min-lag --name --namesrv --notify --offsets --only --order --output --parquet --pattern --pause --perm --port --pos --producer --property --queue --queue-file-size --queues --rate --read-queues --remove --report --retry-max --retry-queues --role --room --scan --secret --secret-key --size --skew --slave-lag --slow-broker-id --sort --start --store --strategy --tag --tags --threads --timeout --tls-ca --tls-cert --tls-key --to --to-topic --topic --topic-perm --trace-topic --unit --unit-sub --until --watch --white-addr --within --write-queues -b -c -d -f -g -k -n -o -p -q -s -t
set -g __mqadmin_paths 'acl' 'acl delete' 'acl list' 'acl set' 'acl show' 'acl version' 'acl white-addr' 'apply' 'assert' 'assert group' 'assert lag' 'assert message-count' 'assert topic' 'broker' 'broker clean' 'broker clean expired-log' 'broker clean expired-queues' 'broker clean unused-topics' 'broker config' 'broker config get' 'broker config set' 'broker connections' 'broker consume-stats' 'broker demote' 'broker list' 'broker promote' 'broker stats' 'broker status' 'broker write-perm' 'broker write-perm add' 'broker write-perm wipe' 'cluster' 'cluster list' 'cluster rt' 'cluster status' 'completion' 'completion names' 'context' 'context add' 'context list' 'context remove' 'context show' 'context use' 'dead-letter' 'dead-letter list' 'dead-letter resend' 'dead-letter show' 'delay' 'delay list' 'diff' 'doctor' 'embedded' 'export' 'export configs' 'export metadata' 'export metrics' 'exporter' 'group' 'group config' 'group create' 'group delete' 'group import' 'group lag' 'group list' 'group running' 'group show' 'group tps' 'group update' 'ha' 'ha status' 'lock' 'lock list' 'message' 'message bench' 'message consume-direct' 'message decode-id' 'message export' 'message get' 'message import' 'message print' 'message query' 'message query id' 'message query key' 'message query offset' 'message query time' 'message query unique-key' 'message resend' 'message send' 'message tail' 'message trace' 'namesrv' 'namesrv config' 'namesrv config get' 'namesrv config set' 'namesrv kv' 'namesrv kv delete' 'namesrv kv get' 'namesrv kv set' 'offset' 'offset clone' 'offset export' 'offset import' 'offset reset' 'offset show' 'offset skip' 'pipeline' 'pipeline archive' 'pipeline diff' 'pipeline duplicates' 'pipeline events' 'pipeline extract' 'pipeline grep' 'pipeline lag' 'pipeline rebuild' 'pipeline restore' 'pipeline rewind' 'pipeline rewind plan' 'pipeline stats' 'pipeline timeline' 'pipeline trace' 'pipeline verify' 'queue' 'queue show' 'rebalance' 'rebalance plan' 'rebalance show' 'rebalance watch' 'shell' 'store' 'store carve' 'store checkpoint' 'store config' 'store diff' 'store events' 'store export' 'store get' 'store hexdump' 'store index' 'store info' 'store log' 'store ls' 'store offsets' 'store query' 'store query key' 'store queue' 'store rebuild' 'store repair' 'store report' 'store seal' 'store stats' 'store tail' 'store timeline' 'store trace' 'store verify' 'top' 'topic' 'topic clusters' 'topic consumers' 'topic create' 'topic delete' 'topic import' 'topic list' 'topic order-conf' 'topic perm' 'topic route' 'topic show' 'topic status' 'topic update' 'transaction' 'transaction list' 'undo' 'wait' 'wait broker' 'wait group' 'wait lag' 'wait topic'

complete -c mqadmin -n '__mqadmin_at \'\' 0' -a acl -d 'acl ...'
complete -c mqadmin -n '__mqadmin_at \'\' 0' -a apply -d 'bring topics, groups and accounts to what a YAML document says'
complete -c mqadmin -n '__mqadmin_at \'\' 0' -a assert -d 'assert ...'
complete -c mqadmin -n '__mqadmin_at \'\' 0' -a broker -d 'broker ...'
complete -c mqadmin -n '__mqadmin_at \'\' 0' -a cluster -d 'cluster ...'
complete -c mqadmin -n '__mqadmin_at \'\' 0' -a completion -d 'print the completion script for a shell'
complete -c mqadmin -n '__mqadmin_at \'\' 0' -a context -d 'context ...'
complete -c mqadmin -n '__mqadmin_at \'\' 0' -a dead-letter -d 'dead-letter ...'
complete -c mqadmin -n '__mqadmin_at \'\' 0' -a delay -d 'delay ...'
complete -c mqadmin -n '__mqadmin_at \'\' 0' -a diff -d 'compare topics, groups and accounts of two clusters, or of a file and a cluster'
complete -c mqadmin -n '__mqadmin_at \'\' 0' -a doctor -d 'look for everything that is wrong with a cluster'
complete -c mqadmin -n '__mqadmin_at \'\' 0' -a embedded -d 'run a name server and a broker, until interrupted'
complete -c mqadmin -n '__mqadmin_at \'\' 0' -a export -d 'write topics, groups and accounts as a YAML document'
complete -c mqadmin -n '__mqadmin_at \'\' 0' -a exporter -d 'serve the metrics of a cluster to Prometheus'
complete -c mqadmin -n '__mqadmin_at \'\' 0' -a group -d 'group ...'
complete -c mqadmin -n '__mqadmin_at \'\' 0' -a ha -d 'ha ...'
complete -c mqadmin -n '__mqadmin_at \'\' 0' -a lock -d 'lock ...'
complete -c mqadmin -n '__mqadmin_at \'\' 0' -a message -d 'message ...'
complete -c mqadmin -n '__mqadmin_at \'\' 0' -a namesrv -d 'namesrv ...'
complete -c mqadmin -n '__mqadmin_at \'\' 0' -a offset -d 'offset ...'
complete -c mqadmin -n '__mqadmin_at \'\' 0' -a pipeline -d 'pipeline ...'
complete -c mqadmin -n '__mqadmin_at \'\' 0' -a queue -d 'queue ...'
complete -c mqadmin -n '__mqadmin_at \'\' 0' -a rebalance -d 'rebalance ...'
complete -c mqadmin -n '__mqadmin_at \'\' 0' -a shell -d 'run commands with completion, or a script'
complete -c mqadmin -n '__mqadmin_at \'\' 0' -a store -d 'store ...'
complete -c mqadmin -n '__mqadmin_at \'\' 0' -a top -d 'show brokers, topics and groups live, the busiest first'
complete -c mqadmin -n '__mqadmin_at \'\' 0' -a topic -d 'topic ...'
complete -c mqadmin -n '__mqadmin_at \'\' 0' -a transaction -d 'transaction ...'
complete -c mqadmin -n '__mqadmin_at \'\' 0' -a undo -d 'put back what a destructive write changed'
complete -c mqadmin -n '__mqadmin_at \'\' 0' -a wait -d 'wait ...'
complete -c mqadmin -n '__mqadmin_at \'acl\' 0' -a delete -d 'delete an account of brokers with access control'
complete -c mqadmin -n '__mqadmin_at \'acl\' 0' -a list -d 'list the accounts of brokers with access control'
complete -c mqadmin -n '__mqadmin_at \'acl\' 0' -a set -d 'create an account, or change the fields that are named'
complete -c mqadmin -n '__mqadmin_at \'acl\' 0' -a show -d 'show one account of brokers with access control'
complete -c mqadmin -n '__mqadmin_at \'acl\' 0' -a version -d 'show when the accounts of each broker changed'
complete -c mqadmin -n '__mqadmin_at \'acl\' 0' -a white-addr -d 'show or replace who needs no account'
complete -c mqadmin -n '__mqadmin_at \'assert\' 0' -a group -d 'exit 1 where a group is not known, or has too few members'
complete -c mqadmin -n '__mqadmin_at \'assert\' 0' -a lag -d 'exit 1 where a group is further behind than it may be'
complete -c mqadmin -n '__mqadmin_at \'assert\' 0' -a message-count -d 'exit 1 where a topic holds too few or too many messages'
complete -c mqadmin -n '__mqadmin_at \'assert\' 0' -a topic -d 'exit 1 where a topic is not there, or not as it is to be'
complete -c mqadmin -n '__mqadmin_at \'broker\' 0' -a clean -d 'broker clean ...'
complete -c mqadmin -n '__mqadmin_at \'broker\' 0' -a config -d 'broker config ...'
complete -c mqadmin -n '__mqadmin_at \'broker\' 0' -a connections -d 'show who is connected to a broker'
complete -c mqadmin -n '__mqadmin_at \'broker\' 0' -a consume-stats -d 'show how far every group on a broker is'
complete -c mqadmin -n '__mqadmin_at \'broker\' 0' -a demote -d 'make a master that was replaced a slave of the new one'
complete -c mqadmin -n '__mqadmin_at \'broker\' 0' -a list -d 'list the brokers and their addresses'
complete -c mqadmin -n '__mqadmin_at \'broker\' 0' -a promote -d 'make a slave the master, when its master is gone'
complete -c mqadmin -n '__mqadmin_at \'broker\' 0' -a stats -d 'show what a broker counted in the last minute, hour and day'
complete -c mqadmin -n '__mqadmin_at \'broker\' 0' -a status -d 'show counters and gauges of a broker'
complete -c mqadmin -n '__mqadmin_at \'broker\' 0' -a write-perm -d 'broker write-perm ...'
complete -c mqadmin -n '__mqadmin_at \'broker clean\' 0' -a expired-log -d 'delete commit log files past their age now, not at the usual hour'
complete -c mqadmin -n '__mqadmin_at \'broker clean\' 0' -a expired-queues -d 'delete consume queues whose messages are all gone'
complete -c mqadmin -n '__mqadmin_at \'broker clean\' 0' -a unused-topics -d 'delete the queues of topics that have no settings any more'
complete -c mqadmin -n '__mqadmin_at \'broker config\' 0' -a get -d 'show the settings of a broker'
complete -c mqadmin -n '__mqadmin_at \'broker config\' 0' -a set -d 'change a setting of running brokers'
complete -c mqadmin -n '__mqadmin_at \'broker write-perm\' 0' -a add -d 'have the name servers tell producers that they may write to a broker'
complete -c mqadmin -n '__mqadmin_at \'broker write-perm\' 0' -a wipe -d 'have the name servers tell producers not to write to a broker'
complete -c mqadmin -n '__mqadmin_at \'cluster\' 0' -a list -d 'list clusters and brokers with versions and rates'
complete -c mqadmin -n '__mqadmin_at \'cluster\' 0' -a rt -d 'measure how long a message takes to every broker and back'
complete -c mqadmin -n '__mqadmin_at \'cluster\' 0' -a status -d 'show what every broker did today, and how it stands'
complete -c mqadmin -n '__mqadmin_at \'completion\' 0' -a names -d 'list live names for completion'
complete -c mqadmin -n '__mqadmin_at \'context\' 0' -a add -d 'name a cluster, or change what a name means'
complete -c mqadmin -n '__mqadmin_at \'context\' 0' -a list -d 'list the named contexts'
complete -c mqadmin -n '__mqadmin_at \'context\' 0' -a remove -d 'forget a named context'
complete -c mqadmin -n '__mqadmin_at \'context\' 0' -a show -d 'show one context'
complete -c mqadmin -n '__mqadmin_at \'context\' 0' -a use -d 'make a context the current one'
complete -c mqadmin -n '__mqadmin_at \'dead-letter\' 0' -a list -d 'list which groups have given up messages'
complete -c mqadmin -n '__mqadmin_at \'dead-letter\' 0' -a resend -d 'give the messages that a group has given up to it again'
complete -c mqadmin -n '__mqadmin_at \'dead-letter\' 0' -a show -d 'show the messages that a group has given up'
complete -c mqadmin -n '__mqadmin_at \'delay\' 0' -a list -d 'list delayed messages that wait, by level'
complete -c mqadmin -n '__mqadmin_at \'export\' 0' -a configs -d 'write the settings of a cluster\'s masters as the file of the Java tool'
complete -c mqadmin -n '__mqadmin_at \'export\' 0' -a metadata -d 'write topics and groups as the file of the Java tool'
complete -c mqadmin -n '__mqadmin_at \'export\' 0' -a metrics -d 'write what a cluster\'s masters counted as the file of the Java tool'
complete -c mqadmin -n '__mqadmin_at \'group\' 0' -a config -d 'show the settings of a consumer group'
complete -c mqadmin -n '__mqadmin_at \'group\' 0' -a create -d 'create a consumer group'
complete -c mqadmin -n '__mqadmin_at \'group\' 0' -a delete -d 'delete a consumer group'
complete -c mqadmin -n '__mqadmin_at \'group\' 0' -a import -d 'create or change the consumer groups of a file'
complete -c mqadmin -n '__mqadmin_at \'group\' 0' -a lag -d 'show how far a group is behind'
complete -c mqadmin -n '__mqadmin_at \'group\' 0' -a list -d 'list the consumer groups'
complete -c mqadmin -n '__mqadmin_at \'group\' 0' -a running -d 'show the inside of the members of a group: queues, caches, locks, threads'
complete -c mqadmin -n '__mqadmin_at \'group\' 0' -a show -d 'show members, subscriptions and settings of a group'
complete -c mqadmin -n '__mqadmin_at \'group\' 0' -a tps -d 'show how fast topics are written and read, and how much is left'
complete -c mqadmin -n '__mqadmin_at \'group\' 0' -a update -d 'change settings of a consumer group'
complete -c mqadmin -n '__mqadmin_at \'ha\' 0' -a status -d 'show masters and slaves, how far behind and in what state'
complete -c mqadmin -n '__mqadmin_at \'lock\' 0' -a list -d 'show which client holds which queue, and who waits for it'
complete -c mqadmin -n '__mqadmin_at \'message\' 0' -a bench -d 'measure how fast messages are stored'
complete -c mqadmin -n '__mqadmin_at \'message\' 0' -a consume-direct -d 'hand a stored message to a live consumer'
complete -c mqadmin -n '__mqadmin_at \'message\' 0' -a decode-id -d 'show what is written in a message id'
complete -c mqadmin -n '__mqadmin_at \'message\' 0' -a export -d 'write the messages of a topic to a file'
complete -c mqadmin -n '__mqadmin_at \'message\' 0' -a get -d 'find messages by an id, a key or a place, whichever it is'
complete -c mqadmin -n '__mqadmin_at \'message\' 0' -a import -d 'send the messages of a file'
complete -c mqadmin -n '__mqadmin_at \'message\' 0' -a print -d 'print the messages of a topic'
complete -c mqadmin -n '__mqadmin_at \'message\' 0' -a query -d 'message query ...'
complete -c mqadmin -n '__mqadmin_at \'message\' 0' -a resend -d 'send a stored message once more'
complete -c mqadmin -n '__mqadmin_at \'message\' 0' -a send -d 'send a message'
complete -c mqadmin -n '__mqadmin_at \'message\' 0' -a tail -d 'follow a topic: print messages as they come'
complete -c mqadmin -n '__mqadmin_at \'message\' 0' -a trace -d 'show the whole life of a message in one time line'
complete -c mqadmin -n '__mqadmin_at \'message query\' 0' -a id -d 'find a message by its id'
complete -c mqadmin -n '__mqadmin_at \'message query\' 0' -a key -d 'find the messages with a key'
complete -c mqadmin -n '__mqadmin_at \'message query\' 0' -a offset -d 'show the message at a place of a queue'
complete -c mqadmin -n '__mqadmin_at \'message query\' 0' -a time -d 'find the messages that were stored in a span of time'
complete -c mqadmin -n '__mqadmin_at \'message query\' 0' -a unique-key -d 'find a message by the id that its producer got'
complete -c mqadmin -n '__mqadmin_at \'namesrv\' 0' -a config -d 'namesrv config ...'
complete -c mqadmin -n '__mqadmin_at \'namesrv\' 0' -a kv -d 'namesrv kv ...'
complete -c mqadmin -n '__mqadmin_at \'namesrv config\' 0' -a get -d 'show the settings of the name servers'
complete -c mqadmin -n '__mqadmin_at \'namesrv config\' 0' -a set -d 'change a setting of the name servers'
complete -c mqadmin -n '__mqadmin_at \'namesrv kv\' 0' -a delete -d 'delete a key from the name servers\' key-value table'
complete -c mqadmin -n '__mqadmin_at \'namesrv kv\' 0' -a get -d 'show values of the name servers\' key-value table'
complete -c mqadmin -n '__mqadmin_at \'namesrv kv\' 0' -a set -d 'set a value in the name servers\' key-value table'
complete -c mqadmin -n '__mqadmin_at \'offset\' 0' -a clone -d 'give a group the offsets of another one'
complete -c mqadmin -n '__mqadmin_at \'offset\' 0' -a export -d 'write the offsets of groups to a file'
complete -c mqadmin -n '__mqadmin_at \'offset\' 0' -a import -d 'store the offsets of a file'
complete -c mqadmin -n '__mqadmin_at \'offset\' 0' -a reset -d 'move a group to another place in a topic'
complete -c mqadmin -n '__mqadmin_at \'offset\' 0' -a show -d 'show the committed offsets of a group'
complete -c mqadmin -n '__mqadmin_at \'offset\' 0' -a skip -d 'let a group pass over messages'
complete -c mqadmin -n '__mqadmin_at \'pipeline\' 0' -a archive -d 'archive live topics into Parquet, each message once'
complete -c mqadmin -n '__mqadmin_at \'pipeline\' 0' -a diff -d 'compare two stores, on Spark'
complete -c mqadmin -n '__mqadmin_at \'pipeline\' 0' -a duplicates -d 'find messages that were sent more than once, on Spark'
complete -c mqadmin -n '__mqadmin_at \'pipeline\' 0' -a events -d 'show what happened to a store, and when, on Spark'
complete -c mqadmin -n '__mqadmin_at \'pipeline\' 0' -a extract -d 'write the messages of stores to files, on Spark'
complete -c mqadmin -n '__mqadmin_at \'pipeline\' 0' -a grep -d 'find messages by a match in their body, on Spark'
complete -c mqadmin -n '__mqadmin_at \'pipeline\' 0' -a lag -d 'show how far each group of a store was behind, on Spark'
complete -c mqadmin -n '__mqadmin_at \'pipeline\' 0' -a rebuild -d 'make consume queues and index again, on Spark'
complete -c mqadmin -n '__mqadmin_at \'pipeline\' 0' -a restore -d 'bring an archive back, into a store or a topic'
complete -c mqadmin -n '__mqadmin_at \'pipeline\' 0' -a rewind -d 'pipeline rewind ...'
complete -c mqadmin -n '__mqadmin_at \'pipeline\' 0' -a stats -d 'count messages and bytes by topic and hour, on Spark'
complete -c mqadmin -n '__mqadmin_at \'pipeline\' 0' -a timeline -d 'show when the messages of a store came, on Spark'
complete -c mqadmin -n '__mqadmin_at \'pipeline\' 0' -a trace -d 'show the whole life of messages in many stores, on Spark'
complete -c mqadmin -n '__mqadmin_at \'pipeline\' 0' -a verify -d 'look for damage in stores, on Spark'
complete -c mqadmin -n '__mqadmin_at \'pipeline rewind\' 0' -a plan -d 'show what moving groups to a time would replay or skip, on Spark'
complete -c mqadmin -n '__mqadmin_at \'queue\' 0' -a show -d 'show entries of a consume queue'
complete -c mqadmin -n '__mqadmin_at \'rebalance\' 0' -a plan -d 'show who would read which queue, with other members, queues or strategy'
complete -c mqadmin -n '__mqadmin_at \'rebalance\' 0' -a show -d 'show which member reads which queue'
complete -c mqadmin -n '__mqadmin_at \'rebalance\' 0' -a watch -d 'show assignments as they change, and queues that change hands again and again'
complete -c mqadmin -n '__mqadmin_at \'store\' 0' -a carve -d 'find records in damaged, cut, overwritten or orphan files'
complete -c mqadmin -n '__mqadmin_at \'store\' 0' -a checkpoint -d 'show how far a store directory was flushed'
complete -c mqadmin -n '__mqadmin_at \'store\' 0' -a config -d 'list what the files of config/ in a store directory say'
complete -c mqadmin -n '__mqadmin_at \'store\' 0' -a diff -d 'compare two stores: first divergence, then queue by queue'
complete -c mqadmin -n '__mqadmin_at \'store\' 0' -a events -d 'show what happened to a store directory, and when'
complete -c mqadmin -n '__mqadmin_at \'store\' 0' -a export -d 'write the messages of a store directory to a file'
complete -c mqadmin -n '__mqadmin_at \'store\' 0' -a get -d 'show one message of a store directory'
complete -c mqadmin -n '__mqadmin_at \'store\' 0' -a hexdump -d 'show the bytes of a record or a file entry, each with its name'
complete -c mqadmin -n '__mqadmin_at \'store\' 0' -a index -d 'list the entries of the index files'
complete -c mqadmin -n '__mqadmin_at \'store\' 0' -a info -d 'show what a store directory holds'
complete -c mqadmin -n '__mqadmin_at \'store\' 0' -a log -d 'list the messages of a store directory'
complete -c mqadmin -n '__mqadmin_at \'store\' 0' -a ls -d 'list the files of a store directory'
complete -c mqadmin -n '__mqadmin_at \'store\' 0' -a offsets -d 'list where consumer groups stand in a store directory'
complete -c mqadmin -n '__mqadmin_at \'store\' 0' -a query -d 'find the messages with a key in a store directory'
complete -c mqadmin -n '__mqadmin_at \'store\' 0' -a queue -d 'list the entries of consume queues'
complete -c mqadmin -n '__mqadmin_at \'store\' 0' -a rebuild -d 'make consume queues and index again from the commit log'
complete -c mqadmin -n '__mqadmin_at \'store\' 0' -a repair -d 'copy a damaged store into one that a broker opens'
complete -c mqadmin -n '__mqadmin_at \'store\' 0' -a report -d 'write a page with pictures of a store directory'
complete -c mqadmin -n '__mqadmin_at \'store\' 0' -a seal -d 'write checksums of whole records beside a store'
complete -c mqadmin -n '__mqadmin_at \'store\' 0' -a stats -d 'count the messages of a store directory'
complete -c mqadmin -n '__mqadmin_at \'store\' 0' -a tail -d 'follow a store directory: print messages as they are stored'
complete -c mqadmin -n '__mqadmin_at \'store\' 0' -a timeline -d 'show when the messages of a store directory came'
complete -c mqadmin -n '__mqadmin_at \'store\' 0' -a trace -d 'show the whole life of a message in a store directory'
complete -c mqadmin -n '__mqadmin_at \'store\' 0' -a verify -d 'look for damage in a store directory'
complete -c mqadmin -n '__mqadmin_at \'store query\' 0' -a key -d 'find the messages with a key in a store directory'
complete -c mqadmin -n '__mqadmin_at \'topic\' 0' -a clusters -d 'show in which clusters a topic is'
complete -c mqadmin -n '__mqadmin_at \'topic\' 0' -a consumers -d 'show which groups read a topic'
complete -c mqadmin -n '__mqadmin_at \'topic\' 0' -a create -d 'create a topic'
complete -c mqadmin -n '__mqadmin_at \'topic\' 0' -a delete -d 'delete a topic and its messages'
complete -c mqadmin -n '__mqadmin_at \'topic\' 0' -a import -d 'create or change the topics of a file'
complete -c mqadmin -n '__mqadmin_at \'topic\' 0' -a list -d 'list the topics'
complete -c mqadmin -n '__mqadmin_at \'topic\' 0' -a order-conf -d 'show or set how many queues of an ordered topic each broker has'
complete -c mqadmin -n '__mqadmin_at \'topic\' 0' -a perm -d 'set who may read and write a topic'
complete -c mqadmin -n '__mqadmin_at \'topic\' 0' -a route -d 'show which brokers have a topic'
complete -c mqadmin -n '__mqadmin_at \'topic\' 0' -a show -d 'show the queues of a topic: where, how full, with which permission'
complete -c mqadmin -n '__mqadmin_at \'topic\' 0' -a status -d 'show how full the queues of a topic are'
complete -c mqadmin -n '__mqadmin_at \'topic\' 0' -a update -d 'change settings of a topic'
complete -c mqadmin -n '__mqadmin_at \'transaction\' 0' -a list -d 'show half messages that nobody decided'
complete -c mqadmin -n '__mqadmin_at \'wait\' 0' -a broker -d 'wait until a broker is registered and answers'
complete -c mqadmin -n '__mqadmin_at \'wait\' 0' -a group -d 'wait until a group is known, with enough members'
complete -c mqadmin -n '__mqadmin_at \'wait\' 0' -a lag -d 'wait until a group has read everything'
complete -c mqadmin -n '__mqadmin_at \'wait\' 0' -a topic -d 'wait until a topic is there, or gone'
complete -c mqadmin -l namesrv -s n -d 'name servers (also NAMESRV_ADDR)' -x
complete -c mqadmin -l context -d 'a named context instead of the current one' -x -a '(__mqadmin_names context)'
complete -c mqadmin -l output -s o -d 'how to print the rows' -x -a 'table json jsonl yaml msgpack csv name'
complete -c mqadmin -l columns -d 'which columns, in this order' -x
complete -c mqadmin -l sort -d 'sort rows by these columns; -A is descending' -x
complete -c mqadmin -l compat -d 'print the layout of RocketMQ\'s own mqadmin 4.9.7; strict: its exit codes, too' -x
complete -c mqadmin -l no-headers -d 'leave out the header line'
complete -c mqadmin -l watch -d 'show it again and again, every SECONDS, until Ctrl-C' -x
complete -c mqadmin -l timeout -d 'for each request (default 5)' -x
complete -c mqadmin -l yes -s y -d 'do not ask before a destructive write'
complete -c mqadmin -l dry-run -d 'print what would change, and change nothing'
complete -c mqadmin -l no-color -d 'no colours (also NO_COLOR)'
complete -c mqadmin -l verbose -s v -d 'say more; a trace for errors of our own'
complete -c mqadmin -l explain -d 'print each request on standard error'
complete -c mqadmin -l access-key -d 'user of an ACL (also MQADMIN_ACCESS_KEY)' -x
complete -c mqadmin -l secret-key -d 'its secret (better: MQADMIN_SECRET_KEY)' -x
complete -c mqadmin -l schema -d 'print the JSON schema of the rows, and do nothing'
complete -c mqadmin -l help -s h -d 'this text'
complete -c mqadmin -l version -d 'print the version'
complete -c mqadmin -n '__mqadmin_at \'acl delete\'' -l broker -s b -d 'on this broker: a name or HOST:PORT' -x -a '(__mqadmin_names broker)'
complete -c mqadmin -n '__mqadmin_at \'acl delete\'' -l cluster -d 'on the brokers of a cluster' -x -a '(__mqadmin_names cluster)'
complete -c mqadmin -n '__mqadmin_at \'acl list\'' -l broker -s b -d 'of this broker: a name or HOST:PORT' -x -a '(__mqadmin_names broker)'
complete -c mqadmin -n '__mqadmin_at \'acl list\'' -l cluster -d 'of the brokers of a cluster' -x -a '(__mqadmin_names cluster)'
complete -c mqadmin -n '__mqadmin_at \'acl set\'' -l secret -d 'its secret; \'-\' reads a line of standard input' -x
complete -c mqadmin -n '__mqadmin_at \'acl set\'' -l admin -d 'it may do everything, or not' -x -a 'true false'
complete -c mqadmin -n '__mqadmin_at \'acl set\'' -l topic-perm -d 'what it may do with topics' -x
complete -c mqadmin -n '__mqadmin_at \'acl set\'' -l group-perm -d 'what it may do with groups' -x
complete -c mqadmin -n '__mqadmin_at \'acl set\'' -l default-topic-perm -d 'with every other topic' -x -a 'DENY PUB SUB PUB\\|SUB SUB\\|PUB'
complete -c mqadmin -n '__mqadmin_at \'acl set\'' -l default-group-perm -d 'with every other group' -x -a 'DENY PUB SUB PUB\\|SUB SUB\\|PUB'
complete -c mqadmin -n '__mqadmin_at \'acl set\'' -l white-addr -d 'from where it needs no signature, as 10.0.0.*' -x
complete -c mqadmin -n '__mqadmin_at \'acl set\'' -l replace -d 'reset what is not named'
complete -c mqadmin -n '__mqadmin_at \'acl set\'' -l broker -s b -d 'on this broker: a name or HOST:PORT' -x -a '(__mqadmin_names broker)'
complete -c mqadmin -n '__mqadmin_at \'acl set\'' -l cluster -d 'on the brokers of a cluster' -x -a '(__mqadmin_names cluster)'
complete -c mqadmin -n '__mqadmin_at \'acl show\'' -l broker -s b -d 'of this broker: a name or HOST:PORT' -x -a '(__mqadmin_names broker)'
complete -c mqadmin -n '__mqadmin_at \'acl show\'' -l cluster -d 'of the brokers of a cluster' -x -a '(__mqadmin_names cluster)'
complete -c mqadmin -n '__mqadmin_at \'acl version\'' -l broker -s b -d 'of this broker: a name or HOST:PORT' -x -a '(__mqadmin_names broker)'
complete -c mqadmin -n '__mqadmin_at \'acl version\'' -l cluster -d 'of the brokers of a cluster' -x -a '(__mqadmin_names cluster)'
complete -c mqadmin -n '__mqadmin_at \'acl white-addr\'' -l file -d 'account file on the broker; its first one where left out' -x
complete -c mqadmin -n '__mqadmin_at \'acl white-addr\'' -l broker -s b -d 'on this broker: a name or HOST:PORT' -x -a '(__mqadmin_names broker)'
complete -c mqadmin -n '__mqadmin_at \'acl white-addr\'' -l cluster -d 'on the brokers of a cluster' -x -a '(__mqadmin_names cluster)'
complete -c mqadmin -n '__mqadmin_at \'apply\'' -l prune -d 'delete topics and groups that it does not name'
complete -c mqadmin -n '__mqadmin_at \'apply\'' -l cluster -d 'on this cluster, where there are several' -x -a '(__mqadmin_names cluster)'
complete -c mqadmin -n '__mqadmin_at \'apply\' 0' -F
complete -c mqadmin -n '__mqadmin_at \'assert group\'' -l members -d 'online, at least' -x
complete -c mqadmin -n '__mqadmin_at \'assert group\'' -l within -d 'until then' -x
complete -c mqadmin -n '__mqadmin_at \'assert group\' 0' -a '(__mqadmin_names group)'
complete -c mqadmin -n '__mqadmin_at \'assert lag\'' -l max -d 'entries that may be left' -x
complete -c mqadmin -n '__mqadmin_at \'assert lag\'' -l within -d 'until then' -x
complete -c mqadmin -n '__mqadmin_at \'assert lag\' 0' -a '(__mqadmin_names group)'
complete -c mqadmin -n '__mqadmin_at \'assert lag\' 1' -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'assert message-count\'' -l min -d 'so many or more' -x
complete -c mqadmin -n '__mqadmin_at \'assert message-count\'' -l max -d 'so many or fewer' -x
complete -c mqadmin -n '__mqadmin_at \'assert message-count\'' -l within -d 'until then' -x
complete -c mqadmin -n '__mqadmin_at \'assert message-count\' 0' -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'assert topic\'' -l queues -d 'readable queues, over all brokers' -x
complete -c mqadmin -n '__mqadmin_at \'assert topic\'' -l absent -d 'it must not be there'
complete -c mqadmin -n '__mqadmin_at \'assert topic\'' -l within -d 'until then' -x
complete -c mqadmin -n '__mqadmin_at \'assert topic\' 0' -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'broker clean expired-log\'' -l broker -s b -d 'on this broker: a name or HOST:PORT' -x -a '(__mqadmin_names broker)'
complete -c mqadmin -n '__mqadmin_at \'broker clean expired-log\'' -l cluster -d 'on the masters of a cluster' -x -a '(__mqadmin_names cluster)'
complete -c mqadmin -n '__mqadmin_at \'broker clean expired-queues\'' -l broker -s b -d 'on this broker: a name or HOST:PORT' -x -a '(__mqadmin_names broker)'
complete -c mqadmin -n '__mqadmin_at \'broker clean expired-queues\'' -l cluster -d 'on the masters of a cluster' -x -a '(__mqadmin_names cluster)'
complete -c mqadmin -n '__mqadmin_at \'broker clean unused-topics\'' -l broker -s b -d 'on this broker: a name or HOST:PORT' -x -a '(__mqadmin_names broker)'
complete -c mqadmin -n '__mqadmin_at \'broker clean unused-topics\'' -l cluster -d 'on the masters of a cluster' -x -a '(__mqadmin_names cluster)'
complete -c mqadmin -n '__mqadmin_at \'broker config get\'' -l broker -s b -d 'of this broker: a name or HOST:PORT' -x -a '(__mqadmin_names broker)'
complete -c mqadmin -n '__mqadmin_at \'broker config get\'' -l cluster -d 'of the masters of a cluster' -x -a '(__mqadmin_names cluster)'
complete -c mqadmin -n '__mqadmin_at \'broker config set\'' -l broker -s b -d 'on this broker: a name or HOST:PORT' -x -a '(__mqadmin_names broker)'
complete -c mqadmin -n '__mqadmin_at \'broker config set\'' -l cluster -d 'on masters and slaves of a cluster' -x -a '(__mqadmin_names cluster)'
complete -c mqadmin -n '__mqadmin_at \'broker connections\'' -l broker -s b -d 'of this broker: a name or HOST:PORT' -x -a '(__mqadmin_names broker)'
complete -c mqadmin -n '__mqadmin_at \'broker connections\'' -l cluster -d 'of the masters of a cluster' -x -a '(__mqadmin_names cluster)'
complete -c mqadmin -n '__mqadmin_at \'broker connections\'' -l topic -d 'of the brokers of this topic' -x -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'broker connections\'' -l kind -d 'only producers, or only consumers' -x -a 'producer consumer'
complete -c mqadmin -n '__mqadmin_at \'broker connections\'' -l group -s g -d 'only of this group' -x -a '(__mqadmin_names group)'
complete -c mqadmin -n '__mqadmin_at \'broker consume-stats\'' -l broker -s b -d 'of this broker: a name or HOST:PORT' -x -a '(__mqadmin_names broker)'
complete -c mqadmin -n '__mqadmin_at \'broker consume-stats\'' -l cluster -d 'of the masters of a cluster' -x -a '(__mqadmin_names cluster)'
complete -c mqadmin -n '__mqadmin_at \'broker consume-stats\'' -l min-lag -d 'only queues with so many messages left' -x
complete -c mqadmin -n '__mqadmin_at \'broker consume-stats\'' -l order -d 'true: only groups that read in order' -x -a 'true false'
complete -c mqadmin -n '__mqadmin_at \'broker demote\'' -l broker-id -d 'its id as a slave; else the smallest that is free' -x
complete -c mqadmin -n '__mqadmin_at \'broker demote\'' -l cut-tail -d 'copy out, then cut, what the new master\'s log does not have'
complete -c mqadmin -n '__mqadmin_at \'broker demote\'' -l force -d 'also where it has not heard of a new master'
complete -c mqadmin -n '__mqadmin_at \'broker demote\' 0' -a '(__mqadmin_names broker)'
complete -c mqadmin -n '__mqadmin_at \'broker list\'' -l cluster -d 'only in this cluster' -x -a '(__mqadmin_names cluster)'
complete -c mqadmin -n '__mqadmin_at \'broker promote\'' -l role -d 'what it becomes; else what its master was' -x -a 'ASYNC_MASTER SYNC_MASTER'
complete -c mqadmin -n '__mqadmin_at \'broker promote\'' -l force -d 'also where it is known to lack messages'
complete -c mqadmin -n '__mqadmin_at \'broker promote\' 0' -a '(__mqadmin_names broker)'
complete -c mqadmin -n '__mqadmin_at \'broker stats\'' -l broker -s b -d 'of this broker: a name or HOST:PORT' -x -a '(__mqadmin_names broker)'
complete -c mqadmin -n '__mqadmin_at \'broker stats\'' -l cluster -d 'of the masters of a cluster' -x -a '(__mqadmin_names cluster)'
complete -c mqadmin -n '__mqadmin_at \'broker status\'' -l broker -s b -d 'of this broker: a name or HOST:PORT' -x -a '(__mqadmin_names broker)'
complete -c mqadmin -n '__mqadmin_at \'broker status\'' -l cluster -d 'of the masters of a cluster' -x -a '(__mqadmin_names cluster)'
complete -c mqadmin -n '__mqadmin_at \'broker write-perm add\' 0' -a '(__mqadmin_names broker)'
complete -c mqadmin -n '__mqadmin_at \'broker write-perm wipe\' 0' -a '(__mqadmin_names broker)'
complete -c mqadmin -n '__mqadmin_at \'cluster list\'' -l totals -d 'show messages of yesterday and today'
complete -c mqadmin -n '__mqadmin_at \'cluster list\' 0' -a '(__mqadmin_names cluster)'
complete -c mqadmin -n '__mqadmin_at \'cluster rt\'' -l cluster -d 'only this cluster' -x -a '(__mqadmin_names cluster)'
complete -c mqadmin -n '__mqadmin_at \'cluster rt\'' -l count -d 'messages to each broker; one more goes first, unmeasured' -x
complete -c mqadmin -n '__mqadmin_at \'cluster rt\'' -l size -d 'bytes of a body' -x
complete -c mqadmin -n '__mqadmin_at \'cluster rt\'' -l every -d 'again and again, so long apart, until Ctrl-C' -x
complete -c mqadmin -n '__mqadmin_at \'cluster rt\'' -l log -d 'as lines for a log: time|room|cluster|broker|ms'
complete -c mqadmin -n '__mqadmin_at \'cluster rt\'' -l room -d 'where this runs, for --log' -x
complete -c mqadmin -n '__mqadmin_at \'cluster status\'' -l cluster -d 'only this cluster' -x -a '(__mqadmin_names cluster)'
complete -c mqadmin -n '__mqadmin_at \'completion\' 0' -a 'bash zsh fish'
complete -c mqadmin -n '__mqadmin_at \'completion names\'' -l refresh -d 'ask the servers whatever the age of the file'
complete -c mqadmin -n '__mqadmin_at \'completion names\' 0' -a 'topic group broker cluster context client'
complete -c mqadmin -n '__mqadmin_at \'context add\'' -l protected -d 'refuse writes unless the context is named'
complete -c mqadmin -n '__mqadmin_at \'context add\'' -l unprotected -d 'take that back'
complete -c mqadmin -n '__mqadmin_at \'context add\'' -l map -d 'connect to another address than a broker advertises' -x
complete -c mqadmin -n '__mqadmin_at \'context add\'' -l tls -d 'connect over TLS, and take any certificate'
complete -c mqadmin -n '__mqadmin_at \'context add\'' -l tls-ca -d '... check it against this PEM file, or `system`' -r -F
complete -c mqadmin -n '__mqadmin_at \'context add\'' -l tls-cert -d 'our own certificate' -r -F
complete -c mqadmin -n '__mqadmin_at \'context add\'' -l tls-key -d '... its key' -r -F
complete -c mqadmin -n '__mqadmin_at \'context add\'' -l no-tls -d 'connect without TLS again'
complete -c mqadmin -n '__mqadmin_at \'context add\'' -l default-output -d 'the format where -o is not given' -x -a 'table json jsonl yaml msgpack csv name'
complete -c mqadmin -n '__mqadmin_at \'context add\'' -l default-timeout -d '... and --timeout' -x
complete -c mqadmin -n '__mqadmin_at \'context add\'' -l use -d 'make it the current one'
complete -c mqadmin -n '__mqadmin_at \'context add\' 0' -a '(__mqadmin_names context)'
complete -c mqadmin -n '__mqadmin_at \'context remove\' 0' -a '(__mqadmin_names context)'
complete -c mqadmin -n '__mqadmin_at \'context show\'' -l show-secrets -d 'print the secret key instead of stars'
complete -c mqadmin -n '__mqadmin_at \'context show\' 0' -a '(__mqadmin_names context)'
complete -c mqadmin -n '__mqadmin_at \'context use\' 0' -a '(__mqadmin_names context)'
complete -c mqadmin -n '__mqadmin_at \'dead-letter list\'' -l all -d 'also groups whose dead letters are gone'
complete -c mqadmin -n '__mqadmin_at \'dead-letter list\' 0' -a '(__mqadmin_names group)'
complete -c mqadmin -n '__mqadmin_at \'dead-letter resend\'' -l from -d 'given up then or later' -x
complete -c mqadmin -n '__mqadmin_at \'dead-letter resend\'' -l to -d 'given up then or before' -x
complete -c mqadmin -n '__mqadmin_at \'dead-letter resend\'' -l topic -d 'sent to this topic first' -x -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'dead-letter resend\'' -l tag -s t -d 'with one of these tags' -x
complete -c mqadmin -n '__mqadmin_at \'dead-letter resend\'' -l key -s k -d 'with this key or unique key' -x
complete -c mqadmin -n '__mqadmin_at \'dead-letter resend\'' -l id -d 'with this offset id' -x
complete -c mqadmin -n '__mqadmin_at \'dead-letter resend\'' -l limit -s c -d 'so many at most' -x
complete -c mqadmin -n '__mqadmin_at \'dead-letter resend\'' -l into -d 'this topic, or `origin` for the first one; if left out, to the group alone' -x -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'dead-letter resend\'' -l rate -d 'so many a second at most' -x
complete -c mqadmin -n '__mqadmin_at \'dead-letter resend\'' -l producer -d 'as this producer group' -x -a '(__mqadmin_names group)'
complete -c mqadmin -n '__mqadmin_at \'dead-letter resend\' 0' -a '(__mqadmin_names group)'
complete -c mqadmin -n '__mqadmin_at \'dead-letter show\'' -l from -d 'given up then or later' -x
complete -c mqadmin -n '__mqadmin_at \'dead-letter show\'' -l to -d 'given up then or before' -x
complete -c mqadmin -n '__mqadmin_at \'dead-letter show\'' -l topic -d 'sent to this topic first' -x -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'dead-letter show\'' -l tag -s t -d 'with one of these tags' -x
complete -c mqadmin -n '__mqadmin_at \'dead-letter show\'' -l key -s k -d 'with this key or unique key' -x
complete -c mqadmin -n '__mqadmin_at \'dead-letter show\'' -l id -d 'with this offset id' -x
complete -c mqadmin -n '__mqadmin_at \'dead-letter show\'' -l limit -s c -d 'so many at most' -x
complete -c mqadmin -n '__mqadmin_at \'dead-letter show\'' -l no-body -d 'leave the bodies out'
complete -c mqadmin -n '__mqadmin_at \'dead-letter show\' 0' -a '(__mqadmin_names group)'
complete -c mqadmin -n '__mqadmin_at \'delay list\'' -l broker -d 'only on this broker' -x -a '(__mqadmin_names broker)'
complete -c mqadmin -n '__mqadmin_at \'delay list\'' -l waiting -d 'only levels where something waits'
complete -c mqadmin -n '__mqadmin_at \'diff\'' -l cluster -d 'this cluster, where there are several' -x -a '(__mqadmin_names cluster)'
complete -c mqadmin -n '__mqadmin_at \'diff\' 0' -F
complete -c mqadmin -n '__mqadmin_at \'diff\' 1' -F
complete -c mqadmin -n '__mqadmin_at \'doctor\'' -l check -s c -d 'only this one' -x -a 'address master disk clock slave route subscription queue backlog namesrv'
complete -c mqadmin -n '__mqadmin_at \'doctor\'' -l fail-on -d 'exit 1 from this severity on' -x -a 'error warning info never'
complete -c mqadmin -n '__mqadmin_at \'doctor\'' -l slave-lag -d 'bytes a slave may be behind' -x
complete -c mqadmin -n '__mqadmin_at \'doctor\'' -l backlog -d 'messages that may wait for an online group' -x
complete -c mqadmin -n '__mqadmin_at \'doctor\'' -l skew -d 'seconds that clocks may differ' -x
complete -c mqadmin -n '__mqadmin_at \'embedded\'' -l store -d 'keep the data here' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'embedded\'' -l port -d 'port of the name server; 0 takes a free one' -x
complete -c mqadmin -n '__mqadmin_at \'embedded\'' -l broker-port -d 'port of the broker; 0 takes a free one' -x
complete -c mqadmin -n '__mqadmin_at \'export\'' -l cluster -d 'this cluster' -x -a '(__mqadmin_names cluster)'
complete -c mqadmin -n '__mqadmin_at \'export configs\'' -l cluster -d 'this cluster' -x -a '(__mqadmin_names cluster)'
complete -c mqadmin -n '__mqadmin_at \'export configs\'' -l directory -s d -d 'where to' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'export metadata\'' -l cluster -d 'this cluster' -x -a '(__mqadmin_names cluster)'
complete -c mqadmin -n '__mqadmin_at \'export metadata\'' -l broker -s b -d 'this broker: a name or HOST:PORT' -x -a '(__mqadmin_names broker)'
complete -c mqadmin -n '__mqadmin_at \'export metadata\'' -l only -d 'one of the two' -x -a 'topics groups'
complete -c mqadmin -n '__mqadmin_at \'export metadata\'' -l special -d 'retry and dead-letter topics, too'
complete -c mqadmin -n '__mqadmin_at \'export metadata\'' -l directory -s d -d 'where to' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'export metrics\'' -l cluster -d 'this cluster' -x -a '(__mqadmin_names cluster)'
complete -c mqadmin -n '__mqadmin_at \'export metrics\'' -l directory -s d -d 'where to' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'exporter\'' -l port -s p -d 'to listen on; 0 takes a free one' -x
complete -c mqadmin -n '__mqadmin_at \'exporter\'' -l host -d 'address to listen on' -x
complete -c mqadmin -n '__mqadmin_at \'exporter\'' -l once -d 'print one scrape, and end'
complete -c mqadmin -n '__mqadmin_at \'group config\' 0' -a '(__mqadmin_names group)'
complete -c mqadmin -n '__mqadmin_at \'group create\'' -l retry-max -d 'deliveries before a message is a dead letter' -x
complete -c mqadmin -n '__mqadmin_at \'group create\'' -l retry-queues -d 'queues of its retry topic' -x
complete -c mqadmin -n '__mqadmin_at \'group create\'' -l disabled -d 'it may not consume yet'
complete -c mqadmin -n '__mqadmin_at \'group create\'' -l no-broadcast -d 'its members may not broadcast'
complete -c mqadmin -n '__mqadmin_at \'group create\'' -l cluster -d 'on its masters' -x -a '(__mqadmin_names cluster)'
complete -c mqadmin -n '__mqadmin_at \'group create\'' -l broker -d 'only there: a name or HOST:PORT' -x -a '(__mqadmin_names broker)'
complete -c mqadmin -n '__mqadmin_at \'group create\' 0' -a '(__mqadmin_names group)'
complete -c mqadmin -n '__mqadmin_at \'group delete\'' -l offsets -d 'its offsets too: a new group begins anew'
complete -c mqadmin -n '__mqadmin_at \'group delete\'' -l topics -d 'its retry and dead letter topics too'
complete -c mqadmin -n '__mqadmin_at \'group delete\'' -l cluster -d 'on its masters' -x -a '(__mqadmin_names cluster)'
complete -c mqadmin -n '__mqadmin_at \'group delete\'' -l broker -d 'only there, and no topics: a name or HOST:PORT' -x -a '(__mqadmin_names broker)'
complete -c mqadmin -n '__mqadmin_at \'group delete\' 0' -a '(__mqadmin_names group)'
complete -c mqadmin -n '__mqadmin_at \'group import\'' -l cluster -d 'on its masters' -x -a '(__mqadmin_names cluster)'
complete -c mqadmin -n '__mqadmin_at \'group import\'' -l broker -d 'only there: a name or HOST:PORT' -x -a '(__mqadmin_names broker)'
complete -c mqadmin -n '__mqadmin_at \'group import\' 0' -F
complete -c mqadmin -n '__mqadmin_at \'group lag\'' -l no-clients -d 'do not ask who reads a queue (fewer requests)'
complete -c mqadmin -n '__mqadmin_at \'group lag\' 0' -a '(__mqadmin_names group)'
complete -c mqadmin -n '__mqadmin_at \'group lag\' 1' -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'group list\'' -l all -s a -d 'the brokers\' own groups too'
complete -c mqadmin -n '__mqadmin_at \'group running\'' -l client -d 'only this member' -x -a '(__mqadmin_names client)'
complete -c mqadmin -n '__mqadmin_at \'group running\'' -l jstack -d 'what its threads do, too'
complete -c mqadmin -n '__mqadmin_at \'group running\'' -l broker -d 'asked through this broker: name or HOST:PORT' -x -a '(__mqadmin_names broker)'
complete -c mqadmin -n '__mqadmin_at \'group running\' 0' -a '(__mqadmin_names group)'
complete -c mqadmin -n '__mqadmin_at \'group show\'' -l broker -d 'as this broker sees it: name or HOST:PORT' -x -a '(__mqadmin_names broker)'
complete -c mqadmin -n '__mqadmin_at \'group show\' 0' -a '(__mqadmin_names group)'
complete -c mqadmin -n '__mqadmin_at \'group tps\'' -l topic -d 'only this topic' -x -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'group tps\'' -l active -d 'only what was written or read within a day'
complete -c mqadmin -n '__mqadmin_at \'group tps\' 0' -a '(__mqadmin_names group)'
complete -c mqadmin -n '__mqadmin_at \'group update\'' -l consume -d 'its members may consume, or not' -x -a 'true false'
complete -c mqadmin -n '__mqadmin_at \'group update\'' -l from-min -d 'a member that is new may read from the first message' -x -a 'true false'
complete -c mqadmin -n '__mqadmin_at \'group update\'' -l broadcast -d 'its members may broadcast' -x -a 'true false'
complete -c mqadmin -n '__mqadmin_at \'group update\'' -l retry-max -d 'deliveries before a message is a dead letter' -x
complete -c mqadmin -n '__mqadmin_at \'group update\'' -l retry-queues -d 'queues of its retry topic' -x
complete -c mqadmin -n '__mqadmin_at \'group update\'' -l broker-id -d 'id of the broker that members read from' -x
complete -c mqadmin -n '__mqadmin_at \'group update\'' -l slow-broker-id -d 'id of the broker that members read old messages from' -x
complete -c mqadmin -n '__mqadmin_at \'group update\'' -l notify -d 'members hear at once who comes and goes' -x -a 'true false'
complete -c mqadmin -n '__mqadmin_at \'group update\'' -l replace -d 'reset what is not named, as Java does'
complete -c mqadmin -n '__mqadmin_at \'group update\'' -l create -d 'make it where it is not there'
complete -c mqadmin -n '__mqadmin_at \'group update\'' -l cluster -d 'on its masters' -x -a '(__mqadmin_names cluster)'
complete -c mqadmin -n '__mqadmin_at \'group update\'' -l broker -d 'only there: a name or HOST:PORT' -x -a '(__mqadmin_names broker)'
complete -c mqadmin -n '__mqadmin_at \'group update\' 0' -a '(__mqadmin_names group)'
complete -c mqadmin -n '__mqadmin_at \'ha status\'' -l broker -s b -d 'of this broker: a name or HOST:PORT' -x -a '(__mqadmin_names broker)'
complete -c mqadmin -n '__mqadmin_at \'ha status\'' -l cluster -d 'of a cluster' -x -a '(__mqadmin_names cluster)'
complete -c mqadmin -n '__mqadmin_at \'lock list\'' -l group -s g -d 'only of this group' -x -a '(__mqadmin_names group)'
complete -c mqadmin -n '__mqadmin_at \'lock list\'' -l topic -d 'only in this topic' -x -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'lock list\'' -l no-waiting -d 'do not ask who waits (fewer requests)'
complete -c mqadmin -n '__mqadmin_at \'message bench\'' -l count -s c -d 'so many messages; 1000 if neither is given' -x
complete -c mqadmin -n '__mqadmin_at \'message bench\'' -l duration -d 'so long' -x
complete -c mqadmin -n '__mqadmin_at \'message bench\'' -l size -s s -d 'bytes of a body' -x
complete -c mqadmin -n '__mqadmin_at \'message bench\'' -l threads -d 'sends that wait for an answer at the same time' -x
complete -c mqadmin -n '__mqadmin_at \'message bench\'' -l rate -d 'so many a second at most' -x
complete -c mqadmin -n '__mqadmin_at \'message bench\'' -l tag -s t -d 'their tag' -x
complete -c mqadmin -n '__mqadmin_at \'message bench\'' -l each -d 'one row a message, not one for all'
complete -c mqadmin -n '__mqadmin_at \'message bench\'' -l group -d 'as this producer group' -x -a '(__mqadmin_names group)'
complete -c mqadmin -n '__mqadmin_at \'message bench\' 0' -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'message consume-direct\'' -l client -d 'this member; the first one if left out' -x -a '(__mqadmin_names client)'
complete -c mqadmin -n '__mqadmin_at \'message consume-direct\'' -l topic -d 'where to look for a unique id' -x -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'message consume-direct\' 1' -a '(__mqadmin_names group)'
complete -c mqadmin -n '__mqadmin_at \'message export\'' -l to -s f -d 'file to write' -r -F
complete -c mqadmin -n '__mqadmin_at \'message export\'' -l format -d 'instead of what the suffix says' -x -a 'jsonl csv parquet'
complete -c mqadmin -n '__mqadmin_at \'message export\'' -l resume -d 'go on with a broken export'
complete -c mqadmin -n '__mqadmin_at \'message export\'' -l queue -d 'only this queue' -x
complete -c mqadmin -n '__mqadmin_at \'message export\'' -l from -d 'stored then or later' -x
complete -c mqadmin -n '__mqadmin_at \'message export\'' -l until -d 'stored then or before' -x
complete -c mqadmin -n '__mqadmin_at \'message export\'' -l tag -s t -d 'only these tags, as \'A || B\'' -x
complete -c mqadmin -n '__mqadmin_at \'message export\'' -l limit -s c -d 'so many at most' -x
complete -c mqadmin -n '__mqadmin_at \'message export\'' -l no-body -d 'leave the bodies out'
complete -c mqadmin -n '__mqadmin_at \'message export\' 0' -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'message get\'' -l topic -s t -d 'its topic; for an offset id it is known' -x -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'message get\'' -l no-body -d 'leave the body out'
complete -c mqadmin -n '__mqadmin_at \'message import\'' -l to -d 'to this topic instead of the one of each line' -x -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'message import\'' -l resume -d 'go on with a broken import'
complete -c mqadmin -n '__mqadmin_at \'message import\'' -l rate -d 'so many a second at most' -x
complete -c mqadmin -n '__mqadmin_at \'message import\'' -l limit -s c -d 'so many at most' -x
complete -c mqadmin -n '__mqadmin_at \'message import\'' -l group -d 'as this producer group' -x -a '(__mqadmin_names group)'
complete -c mqadmin -n '__mqadmin_at \'message import\' 0' -F
complete -c mqadmin -n '__mqadmin_at \'message print\'' -l broker -d 'only queues of this broker' -x -a '(__mqadmin_names broker)'
complete -c mqadmin -n '__mqadmin_at \'message print\'' -l from -d 'stored then or later' -x
complete -c mqadmin -n '__mqadmin_at \'message print\'' -l to -d 'stored then or before' -x
complete -c mqadmin -n '__mqadmin_at \'message print\'' -l start -d 'from this queue offset on' -x
complete -c mqadmin -n '__mqadmin_at \'message print\'' -l tag -s t -d 'only these tags, as \'A || B\'' -x
complete -c mqadmin -n '__mqadmin_at \'message print\'' -l key -s k -d 'with this key or unique key' -x
complete -c mqadmin -n '__mqadmin_at \'message print\'' -l property -s p -d 'with this property' -x
complete -c mqadmin -n '__mqadmin_at \'message print\'' -l grep -d 'with this pattern in the body' -x
complete -c mqadmin -n '__mqadmin_at \'message print\'' -l json -d 'with this in a JSON body' -x
complete -c mqadmin -n '__mqadmin_at \'message print\'' -l limit -s c -d 'so many at most' -x
complete -c mqadmin -n '__mqadmin_at \'message print\'' -l bytes -d 'bodies of so many bytes in all at most' -x
complete -c mqadmin -n '__mqadmin_at \'message print\'' -l scan -d 'look at so many of each queue at most' -x
complete -c mqadmin -n '__mqadmin_at \'message print\'' -l count-tags -d 'say at the end how many there are of each tag'
complete -c mqadmin -n '__mqadmin_at \'message print\'' -l no-body -d 'leave the bodies out'
complete -c mqadmin -n '__mqadmin_at \'message print\' 0' -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'message query id\'' -l topic -d 'where to look for a unique id' -x -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'message query id\'' -l no-body -d 'leave the body out'
complete -c mqadmin -n '__mqadmin_at \'message query key\'' -l from -d 'stored then or later' -x
complete -c mqadmin -n '__mqadmin_at \'message query key\'' -l to -d 'stored then or before' -x
complete -c mqadmin -n '__mqadmin_at \'message query key\'' -l count -s c -d 'so many at most' -x
complete -c mqadmin -n '__mqadmin_at \'message query key\'' -l no-body -d 'leave the bodies out'
complete -c mqadmin -n '__mqadmin_at \'message query key\' 0' -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'message query offset\'' -l broker -d 'the broker, for a bare id' -x -a '(__mqadmin_names broker)'
complete -c mqadmin -n '__mqadmin_at \'message query offset\'' -l no-body -d 'leave the body out'
complete -c mqadmin -n '__mqadmin_at \'message query offset\' 0' -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'message query time\'' -l from -d 'stored then or later' -x
complete -c mqadmin -n '__mqadmin_at \'message query time\'' -l to -d 'stored then or before' -x
complete -c mqadmin -n '__mqadmin_at \'message query time\'' -l limit -s c -d 'so many at most' -x
complete -c mqadmin -n '__mqadmin_at \'message query time\'' -l no-body -d 'leave the bodies out'
complete -c mqadmin -n '__mqadmin_at \'message query time\' 0' -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'message query unique-key\'' -l from -d 'stored then or later' -x
complete -c mqadmin -n '__mqadmin_at \'message query unique-key\'' -l to -d 'stored then or before' -x
complete -c mqadmin -n '__mqadmin_at \'message query unique-key\'' -l all -d 'every copy of it, not only the first'
complete -c mqadmin -n '__mqadmin_at \'message query unique-key\'' -l no-body -d 'leave the body out'
complete -c mqadmin -n '__mqadmin_at \'message query unique-key\' 0' -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'message resend\'' -l topic -d 'where to look for a unique id' -x -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'message resend\'' -l to -d 'to this topic instead of its own' -x -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'message resend\'' -l group -d 'as this producer group' -x -a '(__mqadmin_names group)'
complete -c mqadmin -n '__mqadmin_at \'message send\'' -l file -s f -d 'read the body from a file' -r -F
complete -c mqadmin -n '__mqadmin_at \'message send\'' -l tag -s t -d 'its tag' -x
complete -c mqadmin -n '__mqadmin_at \'message send\'' -l key -s k -d 'a key to find it by' -x
complete -c mqadmin -n '__mqadmin_at \'message send\'' -l property -s p -d 'a property' -x
complete -c mqadmin -n '__mqadmin_at \'message send\'' -l queue -d 'this queue' -x
complete -c mqadmin -n '__mqadmin_at \'message send\'' -l broker -d 'any queue of this broker' -x -a '(__mqadmin_names broker)'
complete -c mqadmin -n '__mqadmin_at \'message send\'' -l delay-level -d 'deliver later: 1 (1 s) to 18 (2 h)' -x
complete -c mqadmin -n '__mqadmin_at \'message send\'' -l group -d 'as this producer group' -x -a '(__mqadmin_names group)'
complete -c mqadmin -n '__mqadmin_at \'message send\'' -l trace -d 'leave a trace of it, for `message trace`'
complete -c mqadmin -n '__mqadmin_at \'message send\' 0' -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'message tail\'' -l from -d 'earliest, latest or a TIME' -x
complete -c mqadmin -n '__mqadmin_at \'message tail\'' -l count -s c -d 'end after so many' -x
complete -c mqadmin -n '__mqadmin_at \'message tail\'' -l bytes -d 'end before bodies of more bytes in all' -x
complete -c mqadmin -n '__mqadmin_at \'message tail\'' -l scan -d 'end after so many were looked at' -x
complete -c mqadmin -n '__mqadmin_at \'message tail\'' -l tag -s t -d 'only these tags, as \'A || B\'' -x
complete -c mqadmin -n '__mqadmin_at \'message tail\'' -l grep -d 'with this pattern in the body' -x
complete -c mqadmin -n '__mqadmin_at \'message tail\'' -l key -s k -d 'with this key or unique key' -x
complete -c mqadmin -n '__mqadmin_at \'message tail\'' -l property -s p -d 'with this property' -x
complete -c mqadmin -n '__mqadmin_at \'message tail\'' -l json -d 'with this in a JSON body' -x
complete -c mqadmin -n '__mqadmin_at \'message tail\'' -l queue -d 'only this queue' -x
complete -c mqadmin -n '__mqadmin_at \'message tail\'' -l no-follow -d 'end at what is there now'
complete -c mqadmin -n '__mqadmin_at \'message tail\'' -l no-body -d 'leave the bodies out'
complete -c mqadmin -n '__mqadmin_at \'message tail\' 0' -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'message trace\'' -l topic -s t -d 'its topic; for an offset id it is known' -x -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'message trace\'' -l trace-topic -d 'where clients wrote traces' -x -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'offset clone\'' -l topic -d 'only in this topic' -x -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'offset clone\' 0' -a '(__mqadmin_names group)'
complete -c mqadmin -n '__mqadmin_at \'offset clone\' 1' -a '(__mqadmin_names group)'
complete -c mqadmin -n '__mqadmin_at \'offset export\'' -l to -s f -d 'file to write' -r -F
complete -c mqadmin -n '__mqadmin_at \'offset export\'' -l topic -d 'only in this topic' -x -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'offset export\' 0 more' -a '(__mqadmin_names group)'
complete -c mqadmin -n '__mqadmin_at \'offset import\'' -l group -d 'only of this group' -x -a '(__mqadmin_names group)'
complete -c mqadmin -n '__mqadmin_at \'offset import\'' -l broker -d 'for lines without a broker (of a store)' -x -a '(__mqadmin_names broker)'
complete -c mqadmin -n '__mqadmin_at \'offset import\' 0' -F
complete -c mqadmin -n '__mqadmin_at \'offset reset\'' -l to -d 'earliest, latest, a TIME, +N, -N or N' -x
complete -c mqadmin -n '__mqadmin_at \'offset reset\'' -l queue -d 'only this queue' -x
complete -c mqadmin -n '__mqadmin_at \'offset reset\'' -l broker -d 'only there: a name or HOST:PORT' -x -a '(__mqadmin_names broker)'
complete -c mqadmin -n '__mqadmin_at \'offset reset\'' -l cpp -d 'members are clients in C++: tell them in their form'
complete -c mqadmin -n '__mqadmin_at \'offset reset\' 0' -a '(__mqadmin_names group)'
complete -c mqadmin -n '__mqadmin_at \'offset reset\' 1' -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'offset show\' 0' -a '(__mqadmin_names group)'
complete -c mqadmin -n '__mqadmin_at \'offset show\' 1' -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'offset skip\'' -l queue -d 'only this queue' -x
complete -c mqadmin -n '__mqadmin_at \'offset skip\' 0' -a '(__mqadmin_names group)'
complete -c mqadmin -n '__mqadmin_at \'offset skip\' 1' -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'pipeline archive\'' -l engine -d 'spark, or local: the same rows made in one process, without Java' -x -a 'spark local'
complete -c mqadmin -n '__mqadmin_at \'pipeline archive\'' -l master -d 'Spark\'s master, as local[2] or spark://HOST:PORT' -x
complete -c mqadmin -n '__mqadmin_at \'pipeline archive\'' -l parquet -d 'also write the rows to this file' -r -F
complete -c mqadmin -n '__mqadmin_at \'pipeline archive\'' -l topic -d 'topic to archive; may be given more than once' -x -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'pipeline archive\'' -l pattern -d 'instead: all topics that match this expression' -x
complete -c mqadmin -n '__mqadmin_at \'pipeline archive\'' -l start -d 'where a new archive begins: earliest, or JSON topic -> broker -> queue -> offset' -x
complete -c mqadmin -n '__mqadmin_at \'pipeline archive\'' -l tags -d 'only these: TagA || TagB' -x
complete -c mqadmin -n '__mqadmin_at \'pipeline archive\'' -l commit-every -d 'messages between two commits' -x
complete -c mqadmin -n '__mqadmin_at \'pipeline archive\'' -l commit-bytes -d 'bytes of messages between two commits, about so many' -x
complete -c mqadmin -n '__mqadmin_at \'pipeline archive\'' -l allow-loss -d 'go on where a broker has removed messages before they were archived'
complete -c mqadmin -n '__mqadmin_at \'pipeline archive\'' -l report -d 'also set this group\'s offsets, so that its lag shows' -x -a '(__mqadmin_names group)'
complete -c mqadmin -n '__mqadmin_at \'pipeline diff\'' -l engine -d 'spark, or local: the same rows made in one process, without Java' -x -a 'spark local'
complete -c mqadmin -n '__mqadmin_at \'pipeline diff\'' -l master -d 'Spark\'s master, as local[2] or spark://HOST:PORT' -x
complete -c mqadmin -n '__mqadmin_at \'pipeline diff\'' -l parquet -d 'also write the rows to this file' -r -F
complete -c mqadmin -n '__mqadmin_at \'pipeline diff\'' -l store -d 'store directory instead of the DIR argument' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'pipeline diff\' 0' -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'pipeline diff\' 1' -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'pipeline duplicates\'' -l engine -d 'spark, or local: the same rows made in one process, without Java' -x -a 'spark local'
complete -c mqadmin -n '__mqadmin_at \'pipeline duplicates\'' -l master -d 'Spark\'s master, as local[2] or spark://HOST:PORT' -x
complete -c mqadmin -n '__mqadmin_at \'pipeline duplicates\'' -l parquet -d 'also write the rows to this file' -r -F
complete -c mqadmin -n '__mqadmin_at \'pipeline duplicates\'' -l store -d 'store directory instead of the DIR argument' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'pipeline duplicates\' 0' -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'pipeline events\'' -l engine -d 'spark, or local: the same rows made in one process, without Java' -x -a 'spark local'
complete -c mqadmin -n '__mqadmin_at \'pipeline events\'' -l master -d 'Spark\'s master, as local[2] or spark://HOST:PORT' -x
complete -c mqadmin -n '__mqadmin_at \'pipeline events\'' -l parquet -d 'also write the rows to this file' -r -F
complete -c mqadmin -n '__mqadmin_at \'pipeline events\'' -l pause -d 'what is shorter is no pause: 10s, 5m; an hour if left out' -x
complete -c mqadmin -n '__mqadmin_at \'pipeline events\'' -l store -d 'store directory instead of the DIR argument' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'pipeline events\' 0' -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'pipeline extract\'' -l engine -d 'spark, or local: the same rows made in one process, without Java' -x -a 'spark local'
complete -c mqadmin -n '__mqadmin_at \'pipeline extract\'' -l master -d 'Spark\'s master, as local[2] or spark://HOST:PORT' -x
complete -c mqadmin -n '__mqadmin_at \'pipeline extract\'' -l parquet -d 'also write the rows to this file' -r -F
complete -c mqadmin -n '__mqadmin_at \'pipeline extract\'' -l to -d 'new directory for the files' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'pipeline extract\'' -l format -d 'what to write; files: a body a file' -x -a 'parquet jsonl files'
complete -c mqadmin -n '__mqadmin_at \'pipeline extract\'' -l topic -d 'of one of these topics' -x -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'pipeline extract\'' -l tag -d 'with one of these tags' -x
complete -c mqadmin -n '__mqadmin_at \'pipeline extract\'' -l key -s k -d 'with this unique key' -x
complete -c mqadmin -n '__mqadmin_at \'pipeline extract\'' -l from -d 'stored then or later' -x
complete -c mqadmin -n '__mqadmin_at \'pipeline extract\'' -l until -d 'stored then or before' -x
complete -c mqadmin -n '__mqadmin_at \'pipeline extract\'' -l body -d 'whose body has a match of this' -x
complete -c mqadmin -n '__mqadmin_at \'pipeline extract\'' -l store -d 'store directory instead of the DIR argument' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'pipeline extract\' 0' -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'pipeline extract\' 1 more' -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'pipeline grep\'' -l engine -d 'spark, or local: the same rows made in one process, without Java' -x -a 'spark local'
complete -c mqadmin -n '__mqadmin_at \'pipeline grep\'' -l master -d 'Spark\'s master, as local[2] or spark://HOST:PORT' -x
complete -c mqadmin -n '__mqadmin_at \'pipeline grep\'' -l parquet -d 'also write the rows to this file' -r -F
complete -c mqadmin -n '__mqadmin_at \'pipeline grep\'' -l mask -d 'show *** for what matches: tell where, not what'
complete -c mqadmin -n '__mqadmin_at \'pipeline grep\'' -l store -d 'store directory instead of the DIR argument' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'pipeline grep\' 0' -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'pipeline lag\'' -l engine -d 'spark, or local: the same rows made in one process, without Java' -x -a 'spark local'
complete -c mqadmin -n '__mqadmin_at \'pipeline lag\'' -l master -d 'Spark\'s master, as local[2] or spark://HOST:PORT' -x
complete -c mqadmin -n '__mqadmin_at \'pipeline lag\'' -l parquet -d 'also write the rows to this file' -r -F
complete -c mqadmin -n '__mqadmin_at \'pipeline lag\'' -l offsets -d 'older copies of consumerOffset.json, with commas' -x
complete -c mqadmin -n '__mqadmin_at \'pipeline lag\'' -l store -d 'store directory instead of the DIR argument' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'pipeline lag\' 0' -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'pipeline lag\' 1 more' -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'pipeline rebuild\'' -l engine -d 'spark, or local: the same rows made in one process, without Java' -x -a 'spark local'
complete -c mqadmin -n '__mqadmin_at \'pipeline rebuild\'' -l master -d 'Spark\'s master, as local[2] or spark://HOST:PORT' -x
complete -c mqadmin -n '__mqadmin_at \'pipeline rebuild\'' -l parquet -d 'also write the rows to this file' -r -F
complete -c mqadmin -n '__mqadmin_at \'pipeline rebuild\'' -l to -d 'new directory; with several stores one below it for each' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'pipeline rebuild\'' -l no-index -d 'leave the index out'
complete -c mqadmin -n '__mqadmin_at \'pipeline rebuild\'' -l store -d 'store directory instead of the DIR argument' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'pipeline rebuild\' 0' -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'pipeline rebuild\' 1 more' -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'pipeline restore\'' -l engine -d 'spark, or local: the same rows made in one process, without Java' -x -a 'spark local'
complete -c mqadmin -n '__mqadmin_at \'pipeline restore\'' -l master -d 'Spark\'s master, as local[2] or spark://HOST:PORT' -x
complete -c mqadmin -n '__mqadmin_at \'pipeline restore\'' -l parquet -d 'also write the rows to this file' -r -F
complete -c mqadmin -n '__mqadmin_at \'pipeline restore\'' -l topic -d 'only this topic; may be given more than once' -x -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'pipeline restore\'' -l to -d 'a store directory to make' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'pipeline restore\'' -l broker -d 'with --to: whose messages, where the archive has several brokers\'' -x
complete -c mqadmin -n '__mqadmin_at \'pipeline restore\'' -l file-size -d 'with --to: bytes of a commit log file (default 1 GiB)' -x
complete -c mqadmin -n '__mqadmin_at \'pipeline restore\'' -l to-topic -d 'instead: send the messages to this topic' -x -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'pipeline restore\'' -l keep-queues -d 'with --to-topic: into the queues of the same numbers'
complete -c mqadmin -n '__mqadmin_at \'pipeline rewind plan\'' -l engine -d 'spark, or local: the same rows made in one process, without Java' -x -a 'spark local'
complete -c mqadmin -n '__mqadmin_at \'pipeline rewind plan\'' -l master -d 'Spark\'s master, as local[2] or spark://HOST:PORT' -x
complete -c mqadmin -n '__mqadmin_at \'pipeline rewind plan\'' -l parquet -d 'also write the rows to this file' -r -F
complete -c mqadmin -n '__mqadmin_at \'pipeline rewind plan\'' -l to -d 'store time to move to' -x
complete -c mqadmin -n '__mqadmin_at \'pipeline rewind plan\'' -l group -s g -d 'only this group' -x -a '(__mqadmin_names group)'
complete -c mqadmin -n '__mqadmin_at \'pipeline rewind plan\'' -l topic -s t -d 'only this topic' -x -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'pipeline rewind plan\'' -l store -d 'store directory instead of the DIR argument' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'pipeline rewind plan\' 0' -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'pipeline rewind plan\' 1 more' -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'pipeline stats\'' -l engine -d 'spark, or local: the same rows made in one process, without Java' -x -a 'spark local'
complete -c mqadmin -n '__mqadmin_at \'pipeline stats\'' -l master -d 'Spark\'s master, as local[2] or spark://HOST:PORT' -x
complete -c mqadmin -n '__mqadmin_at \'pipeline stats\'' -l parquet -d 'also write the rows to this file' -r -F
complete -c mqadmin -n '__mqadmin_at \'pipeline stats\'' -l by -s b -d 'count by this, too' -x -a 'queue producer tag'
complete -c mqadmin -n '__mqadmin_at \'pipeline stats\'' -l store -d 'store directory instead of the DIR argument' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'pipeline stats\' 0' -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'pipeline timeline\'' -l engine -d 'spark, or local: the same rows made in one process, without Java' -x -a 'spark local'
complete -c mqadmin -n '__mqadmin_at \'pipeline timeline\'' -l master -d 'Spark\'s master, as local[2] or spark://HOST:PORT' -x
complete -c mqadmin -n '__mqadmin_at \'pipeline timeline\'' -l parquet -d 'also write the rows to this file' -r -F
complete -c mqadmin -n '__mqadmin_at \'pipeline timeline\'' -l every -d 'length of a span: 10s, 5m, 1h, 1d; chosen if left out' -x
complete -c mqadmin -n '__mqadmin_at \'pipeline timeline\'' -l topic -s t -d 'of this topic' -x -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'pipeline timeline\'' -l from -d 'stored then or later' -x
complete -c mqadmin -n '__mqadmin_at \'pipeline timeline\'' -l to -d 'stored then or before' -x
complete -c mqadmin -n '__mqadmin_at \'pipeline timeline\'' -l store -d 'store directory instead of the DIR argument' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'pipeline timeline\' 0' -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'pipeline trace\'' -l engine -d 'spark, or local: the same rows made in one process, without Java' -x -a 'spark local'
complete -c mqadmin -n '__mqadmin_at \'pipeline trace\'' -l master -d 'Spark\'s master, as local[2] or spark://HOST:PORT' -x
complete -c mqadmin -n '__mqadmin_at \'pipeline trace\'' -l parquet -d 'also write the rows to this file' -r -F
complete -c mqadmin -n '__mqadmin_at \'pipeline trace\'' -l topic -s t -d 'sent to this topic' -x -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'pipeline trace\'' -l scan -d 'read whole logs, not only what the indexes name'
complete -c mqadmin -n '__mqadmin_at \'pipeline trace\'' -l store -d 'store directory instead of the DIR argument' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'pipeline trace\' 0' -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'pipeline trace\' 2 more' -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'pipeline verify\'' -l engine -d 'spark, or local: the same rows made in one process, without Java' -x -a 'spark local'
complete -c mqadmin -n '__mqadmin_at \'pipeline verify\'' -l master -d 'Spark\'s master, as local[2] or spark://HOST:PORT' -x
complete -c mqadmin -n '__mqadmin_at \'pipeline verify\'' -l parquet -d 'also write the rows to this file' -r -F
complete -c mqadmin -n '__mqadmin_at \'pipeline verify\'' -l deep -d 'also decompress bodies, and hold the index against the log'
complete -c mqadmin -n '__mqadmin_at \'pipeline verify\'' -l store -d 'store directory instead of the DIR argument' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'pipeline verify\' 0' -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'pipeline verify\' 1 more' -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'queue show\'' -l start -d 'queue offset to begin at; the first if left out' -x
complete -c mqadmin -n '__mqadmin_at \'queue show\'' -l count -s c -d 'so many at most' -x
complete -c mqadmin -n '__mqadmin_at \'queue show\'' -l group -d 'say whether this group\'s filter takes them' -x -a '(__mqadmin_names group)'
complete -c mqadmin -n '__mqadmin_at \'queue show\'' -l broker -d 'the broker, for a bare id' -x -a '(__mqadmin_names broker)'
complete -c mqadmin -n '__mqadmin_at \'queue show\' 0' -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'rebalance plan\'' -l strategy -s s -d 'another strategy' -x -a 'AVG AVG_BY_CIRCLE CONSISTENT_HASH MACHINE_ROOM MACHINE_ROOM_NEARBY'
complete -c mqadmin -n '__mqadmin_at \'rebalance plan\'' -l add -d 'a client id that joins; A,B for several' -x
complete -c mqadmin -n '__mqadmin_at \'rebalance plan\'' -l remove -d 'a client id that leaves' -x -a '(__mqadmin_names client)'
complete -c mqadmin -n '__mqadmin_at \'rebalance plan\'' -l queues -d 'so many queues on each broker' -x
complete -c mqadmin -n '__mqadmin_at \'rebalance plan\'' -l no-picture -d 'the rows alone'
complete -c mqadmin -n '__mqadmin_at \'rebalance plan\'' -l room -d 'rooms to read from, for MACHINE_ROOM' -x
complete -c mqadmin -n '__mqadmin_at \'rebalance plan\' 0' -a '(__mqadmin_names group)'
complete -c mqadmin -n '__mqadmin_at \'rebalance plan\' 1' -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'rebalance show\' 0' -a '(__mqadmin_names group)'
complete -c mqadmin -n '__mqadmin_at \'rebalance show\' 1' -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'rebalance watch\'' -l interval -d 'between two looks' -x
complete -c mqadmin -n '__mqadmin_at \'rebalance watch\'' -l for -d 'end after this long' -x
complete -c mqadmin -n '__mqadmin_at \'rebalance watch\' 0' -a '(__mqadmin_names group)'
complete -c mqadmin -n '__mqadmin_at \'rebalance watch\' 1' -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'shell\'' -l command -s c -d 'run this text' -x
complete -c mqadmin -n '__mqadmin_at \'shell\'' -l embedded -d 'start a name server and a broker for this shell'
complete -c mqadmin -n '__mqadmin_at \'shell\'' -l store -d 'where --embedded keeps its data' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'shell\'' -l keep-going -d 'go on after a line that fails'
complete -c mqadmin -n '__mqadmin_at \'shell\' 0' -F
complete -c mqadmin -n '__mqadmin_at \'store carve\'' -l to -d 'also write them as a log into this new directory' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store carve\'' -l log-file-size -d 'bytes of a log file in OUT' -x
complete -c mqadmin -n '__mqadmin_at \'store carve\'' -l no-crc -d 'also take records whose body does not fit its CRC'
complete -c mqadmin -n '__mqadmin_at \'store carve\'' -l copies -d 'list a record each time it is found'
complete -c mqadmin -n '__mqadmin_at \'store carve\'' -l no-body -d 'leave the bodies out'
complete -c mqadmin -n '__mqadmin_at \'store carve\'' -l inflate -d 'decompress the bodies'
complete -c mqadmin -n '__mqadmin_at \'store carve\'' -l store -d 'store directory instead of the DIR argument' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store carve\' 0' -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store checkpoint\'' -l store -d 'store directory instead of the DIR argument' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store checkpoint\' 0' -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store config\'' -l name -d 'of this topic, group, topic@group or level' -x
complete -c mqadmin -n '__mqadmin_at \'store config\'' -l store -d 'store directory instead of the DIR argument' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store config\' 0' -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store diff\'' -l store -d 'store directory instead of the DIR argument' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store diff\' 0' -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store diff\' 1' -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store events\'' -l pause -d 'what is shorter is no pause: 10s, 5m; an hour if left out' -x
complete -c mqadmin -n '__mqadmin_at \'store events\'' -l store -d 'store directory instead of the DIR argument' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store events\' 0' -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store export\'' -l topic -d 'of this topic' -x -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'store export\'' -l queue -d 'of this queue' -x
complete -c mqadmin -n '__mqadmin_at \'store export\'' -l key -s k -d 'with this key or unique key' -x
complete -c mqadmin -n '__mqadmin_at \'store export\'' -l tag -d 'with one of these tags' -x
complete -c mqadmin -n '__mqadmin_at \'store export\'' -l producer -d 'of this producer group, where it is stored' -x
complete -c mqadmin -n '__mqadmin_at \'store export\'' -l from -d 'stored then or later' -x
complete -c mqadmin -n '__mqadmin_at \'store export\'' -l log-offset -d 'in this part of the log, in bytes' -x
complete -c mqadmin -n '__mqadmin_at \'store export\'' -l limit -s c -d 'so many at most' -x
complete -c mqadmin -n '__mqadmin_at \'store export\'' -l no-body -d 'leave the bodies out'
complete -c mqadmin -n '__mqadmin_at \'store export\'' -l inflate -d 'decompress the bodies'
complete -c mqadmin -n '__mqadmin_at \'store export\'' -l to -s f -d 'file to write' -r -F
complete -c mqadmin -n '__mqadmin_at \'store export\'' -l format -d 'instead of what the suffix says' -x -a 'jsonl csv parquet'
complete -c mqadmin -n '__mqadmin_at \'store export\'' -l resume -d 'go on with a broken export'
complete -c mqadmin -n '__mqadmin_at \'store export\'' -l until -d 'stored then or before' -x
complete -c mqadmin -n '__mqadmin_at \'store export\'' -l store -d 'store directory instead of the DIR argument' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store export\' 0' -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store get\'' -l no-body -d 'leave the body out'
complete -c mqadmin -n '__mqadmin_at \'store get\'' -l inflate -d 'decompress the body'
complete -c mqadmin -n '__mqadmin_at \'store get\'' -l store -d 'store directory instead of the DIR argument' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store get\' 0' -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store hexdump\'' -l file -d 'in this file of the store instead' -r -F
complete -c mqadmin -n '__mqadmin_at \'store hexdump\'' -l pos -d 'with --file: the byte to look at' -x
complete -c mqadmin -n '__mqadmin_at \'store hexdump\'' -l count -s c -d 'with --file: so many entries' -x
complete -c mqadmin -n '__mqadmin_at \'store hexdump\'' -l whole -d 'show long bodies to their end'
complete -c mqadmin -n '__mqadmin_at \'store hexdump\'' -l store -d 'store directory instead of the DIR argument' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store hexdump\' 0' -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store index\'' -l limit -s c -d 'so many of each file at most' -x
complete -c mqadmin -n '__mqadmin_at \'store index\'' -l store -d 'store directory instead of the DIR argument' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store index\' 0' -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store info\'' -l whole -d 'list every topic and group in the table, not the largest'
complete -c mqadmin -n '__mqadmin_at \'store info\'' -l store -d 'store directory instead of the DIR argument' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store info\' 0' -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store log\'' -l topic -d 'of this topic' -x -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'store log\'' -l queue -d 'of this queue' -x
complete -c mqadmin -n '__mqadmin_at \'store log\'' -l key -s k -d 'with this key or unique key' -x
complete -c mqadmin -n '__mqadmin_at \'store log\'' -l tag -d 'with one of these tags' -x
complete -c mqadmin -n '__mqadmin_at \'store log\'' -l producer -d 'of this producer group, where it is stored' -x
complete -c mqadmin -n '__mqadmin_at \'store log\'' -l from -d 'stored then or later' -x
complete -c mqadmin -n '__mqadmin_at \'store log\'' -l log-offset -d 'in this part of the log, in bytes' -x
complete -c mqadmin -n '__mqadmin_at \'store log\'' -l limit -s c -d 'so many at most' -x
complete -c mqadmin -n '__mqadmin_at \'store log\'' -l no-body -d 'leave the bodies out'
complete -c mqadmin -n '__mqadmin_at \'store log\'' -l inflate -d 'decompress the bodies'
complete -c mqadmin -n '__mqadmin_at \'store log\'' -l to -d 'stored then or before' -x
complete -c mqadmin -n '__mqadmin_at \'store log\'' -l store -d 'store directory instead of the DIR argument' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store log\' 0' -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store ls\'' -l store -d 'store directory instead of the DIR argument' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store ls\' 0' -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store offsets\'' -l group -s g -d 'of this group' -x -a '(__mqadmin_names group)'
complete -c mqadmin -n '__mqadmin_at \'store offsets\'' -l topic -d 'of this topic' -x -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'store offsets\'' -l store -d 'store directory instead of the DIR argument' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store offsets\' 0' -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store query\'' -l from -d 'stored then or later' -x
complete -c mqadmin -n '__mqadmin_at \'store query\'' -l to -d 'stored then or before' -x
complete -c mqadmin -n '__mqadmin_at \'store query\'' -l limit -s c -d 'so many at most, the newest' -x
complete -c mqadmin -n '__mqadmin_at \'store query\'' -l no-body -d 'leave the bodies out'
complete -c mqadmin -n '__mqadmin_at \'store query\'' -l inflate -d 'decompress the bodies'
complete -c mqadmin -n '__mqadmin_at \'store query\'' -l store -d 'store directory instead of the DIR argument' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store query\' 0' -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store query\' 1' -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'store query key\'' -l from -d 'stored then or later' -x
complete -c mqadmin -n '__mqadmin_at \'store query key\'' -l to -d 'stored then or before' -x
complete -c mqadmin -n '__mqadmin_at \'store query key\'' -l limit -s c -d 'so many at most, the newest' -x
complete -c mqadmin -n '__mqadmin_at \'store query key\'' -l no-body -d 'leave the bodies out'
complete -c mqadmin -n '__mqadmin_at \'store query key\'' -l inflate -d 'decompress the bodies'
complete -c mqadmin -n '__mqadmin_at \'store query key\'' -l store -d 'store directory instead of the DIR argument' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store query key\' 0' -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store query key\' 1' -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'store queue\'' -l start -d 'queue offset to begin at' -x
complete -c mqadmin -n '__mqadmin_at \'store queue\'' -l limit -s c -d 'so many of each queue at most' -x
complete -c mqadmin -n '__mqadmin_at \'store queue\'' -l store -d 'store directory instead of the DIR argument' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store queue\' 0' -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store queue\' 1' -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'store rebuild\'' -l to -d 'new or empty directory' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store rebuild\'' -l queue-file-size -d 'bytes of a queue file; 0 for the size of the old ones, or 6000000' -x
complete -c mqadmin -n '__mqadmin_at \'store rebuild\'' -l index-slots -d 'slots of an index file; 0 for those of the old ones, or 5000000' -x
complete -c mqadmin -n '__mqadmin_at \'store rebuild\'' -l index-entries -d 'entries of an index file; 0 for those of the old ones, or 20000000' -x
complete -c mqadmin -n '__mqadmin_at \'store rebuild\'' -l delay-levels -d 'messageDelayLevel of the broker' -x
complete -c mqadmin -n '__mqadmin_at \'store rebuild\'' -l no-index -d 'leave the index out'
complete -c mqadmin -n '__mqadmin_at \'store rebuild\'' -l store -d 'store directory instead of the DIR argument' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store rebuild\' 0' -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store repair\'' -l to -d 'new or empty directory' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store repair\'' -l queue-file-size -d 'bytes of a queue file; 0 for the size of the old ones, or 6000000' -x
complete -c mqadmin -n '__mqadmin_at \'store repair\'' -l index-slots -d 'slots of an index file; 0 for those of the old ones, or 5000000' -x
complete -c mqadmin -n '__mqadmin_at \'store repair\'' -l index-entries -d 'entries of an index file; 0 for those of the old ones, or 20000000' -x
complete -c mqadmin -n '__mqadmin_at \'store repair\'' -l delay-levels -d 'messageDelayLevel of the broker' -x
complete -c mqadmin -n '__mqadmin_at \'store repair\'' -l store -d 'store directory instead of the DIR argument' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store repair\' 0' -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store report\'' -l html -d 'file to write' -r -F
complete -c mqadmin -n '__mqadmin_at \'store report\'' -l deep -d 'verify bodies and every key of the index, too'
complete -c mqadmin -n '__mqadmin_at \'store report\'' -l replace -d 'write over a file that is there'
complete -c mqadmin -n '__mqadmin_at \'store report\'' -l store -d 'store directory instead of the DIR argument' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store report\' 0' -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store seal\'' -l to -d 'another directory than DIR/checksums' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store seal\'' -l jobs -d 'processes for a large log; if left out, 1 below 4 cores, else the cores, up to 8' -x
complete -c mqadmin -n '__mqadmin_at \'store seal\'' -l store -d 'store directory instead of the DIR argument' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store seal\' 0' -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store stats\'' -l by -s b -d 'count by' -x -a 'topic queue tag producer hour'
complete -c mqadmin -n '__mqadmin_at \'store stats\'' -l topic -s t -d 'of this topic' -x -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'store stats\'' -l from -d 'stored then or later' -x
complete -c mqadmin -n '__mqadmin_at \'store stats\'' -l to -d 'stored then or before' -x
complete -c mqadmin -n '__mqadmin_at \'store stats\'' -l limit -s c -d 'so many rows at most' -x
complete -c mqadmin -n '__mqadmin_at \'store stats\'' -l jobs -d 'processes for a large log; if left out, 1 below 4 cores, else the cores, up to 8' -x
complete -c mqadmin -n '__mqadmin_at \'store stats\'' -l store -d 'store directory instead of the DIR argument' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store stats\' 0' -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store tail\'' -l topic -s t -d 'of this topic' -x -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'store tail\'' -l key -s k -d 'with this key or unique key' -x
complete -c mqadmin -n '__mqadmin_at \'store tail\'' -l tag -d 'with one of these tags' -x
complete -c mqadmin -n '__mqadmin_at \'store tail\'' -l from -d 'earliest, latest or a TIME' -x
complete -c mqadmin -n '__mqadmin_at \'store tail\'' -l count -s c -d 'end after so many' -x
complete -c mqadmin -n '__mqadmin_at \'store tail\'' -l no-follow -d 'end at what is there now'
complete -c mqadmin -n '__mqadmin_at \'store tail\'' -l no-body -d 'leave the bodies out'
complete -c mqadmin -n '__mqadmin_at \'store tail\'' -l inflate -d 'decompress the bodies'
complete -c mqadmin -n '__mqadmin_at \'store tail\'' -l store -d 'store directory instead of the DIR argument' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store tail\' 0' -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store timeline\'' -l every -d 'length of a span: 10s, 5m, 1h, 1d; chosen if left out' -x
complete -c mqadmin -n '__mqadmin_at \'store timeline\'' -l topic -s t -d 'of this topic' -x -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'store timeline\'' -l from -d 'stored then or later' -x
complete -c mqadmin -n '__mqadmin_at \'store timeline\'' -l to -d 'stored then or before' -x
complete -c mqadmin -n '__mqadmin_at \'store timeline\'' -l jobs -d 'processes for a large log; if left out, 1 below 4 cores, else the cores, up to 8' -x
complete -c mqadmin -n '__mqadmin_at \'store timeline\'' -l store -d 'store directory instead of the DIR argument' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store timeline\' 0' -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store trace\'' -l topic -s t -d 'sent to this topic' -x -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'store trace\'' -l scan -d 'read the whole log, not only what the index names'
complete -c mqadmin -n '__mqadmin_at \'store trace\'' -l no-body -d 'leave the bodies out'
complete -c mqadmin -n '__mqadmin_at \'store trace\'' -l inflate -d 'decompress the bodies'
complete -c mqadmin -n '__mqadmin_at \'store trace\'' -l store -d 'store directory instead of the DIR argument' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store trace\' 0' -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store verify\'' -l deep -d 'also decompress bodies, and hold the index against the log'
complete -c mqadmin -n '__mqadmin_at \'store verify\'' -l checksums -d 'where `store seal --to` wrote; DIR/checksums is used by itself' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store verify\'' -l jobs -d 'processes for a large log; if left out, 1 below 4 cores, else the cores, up to 8' -x
complete -c mqadmin -n '__mqadmin_at \'store verify\'' -l store -d 'store directory instead of the DIR argument' -x -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'store verify\' 0' -a '(__fish_complete_directories)'
complete -c mqadmin -n '__mqadmin_at \'top\'' -l interval -d 'between two looks' -x
complete -c mqadmin -n '__mqadmin_at \'top\'' -l once -d 'look twice, print the rows, and end'
complete -c mqadmin -n '__mqadmin_at \'topic clusters\' 0' -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'topic consumers\' 0' -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'topic create\'' -l queues -s q -d 'queues to read and to write, a broker' -x
complete -c mqadmin -n '__mqadmin_at \'topic create\'' -l read-queues -d 'queues to read, where they differ' -x
complete -c mqadmin -n '__mqadmin_at \'topic create\'' -l write-queues -d 'queues to write, where they differ' -x
complete -c mqadmin -n '__mqadmin_at \'topic create\'' -l perm -d 'RW, R, W, or 6, 4, 2' -x
complete -c mqadmin -n '__mqadmin_at \'topic create\'' -l order -d 'an ordered topic'
complete -c mqadmin -n '__mqadmin_at \'topic create\'' -l cluster -d 'on its masters' -x -a '(__mqadmin_names cluster)'
complete -c mqadmin -n '__mqadmin_at \'topic create\'' -l broker -d 'only there: a name or HOST:PORT' -x -a '(__mqadmin_names broker)'
complete -c mqadmin -n '__mqadmin_at \'topic create\' 0' -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'topic delete\'' -l cluster -d 'only on its brokers' -x -a '(__mqadmin_names cluster)'
complete -c mqadmin -n '__mqadmin_at \'topic delete\' 0' -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'topic import\'' -l cluster -d 'on its masters' -x -a '(__mqadmin_names cluster)'
complete -c mqadmin -n '__mqadmin_at \'topic import\'' -l broker -d 'only there: a name or HOST:PORT' -x -a '(__mqadmin_names broker)'
complete -c mqadmin -n '__mqadmin_at \'topic import\' 0' -F
complete -c mqadmin -n '__mqadmin_at \'topic list\'' -l kind -d 'only topics of this kind' -x -a 'normal retry dead_letter system'
complete -c mqadmin -n '__mqadmin_at \'topic list\'' -l cluster -d 'only topics with a queue in it' -x -a '(__mqadmin_names cluster)'
complete -c mqadmin -n '__mqadmin_at \'topic list\'' -l groups -d 'clusters and groups of each topic too: two requests a topic'
complete -c mqadmin -n '__mqadmin_at \'topic order-conf\'' -l method -d 'get, put or delete; put where a new one is given, else get' -x -a 'get put delete'
complete -c mqadmin -n '__mqadmin_at \'topic order-conf\' 0' -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'topic perm\'' -l cluster -d 'on its masters' -x -a '(__mqadmin_names cluster)'
complete -c mqadmin -n '__mqadmin_at \'topic perm\'' -l broker -d 'only there: a name or HOST:PORT' -x -a '(__mqadmin_names broker)'
complete -c mqadmin -n '__mqadmin_at \'topic perm\' 0' -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'topic route\'' -l brief -d 'with --compat: Java\'s table, not its JSON'
complete -c mqadmin -n '__mqadmin_at \'topic route\' 0' -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'topic show\' 0' -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'topic status\' 0' -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'topic update\'' -l queues -s q -d 'queues to read and to write' -x
complete -c mqadmin -n '__mqadmin_at \'topic update\'' -l read-queues -d 'queues to read' -x
complete -c mqadmin -n '__mqadmin_at \'topic update\'' -l write-queues -d 'queues to write' -x
complete -c mqadmin -n '__mqadmin_at \'topic update\'' -l perm -d 'RW, R, W, or 6, 4, 2' -x
complete -c mqadmin -n '__mqadmin_at \'topic update\'' -l order -d 'an ordered topic or not' -x -a 'true false'
complete -c mqadmin -n '__mqadmin_at \'topic update\'' -l unit -d 'a topic of one unit (topicSysFlag 1)' -x -a 'true false'
complete -c mqadmin -n '__mqadmin_at \'topic update\'' -l unit-sub -d 'read by groups of units (topicSysFlag 2)' -x -a 'true false'
complete -c mqadmin -n '__mqadmin_at \'topic update\'' -l replace -d 'reset what is not named, as Java does'
complete -c mqadmin -n '__mqadmin_at \'topic update\'' -l create -d 'make it where it is not there'
complete -c mqadmin -n '__mqadmin_at \'topic update\'' -l cluster -d 'on its masters' -x -a '(__mqadmin_names cluster)'
complete -c mqadmin -n '__mqadmin_at \'topic update\'' -l broker -d 'only there: a name or HOST:PORT' -x -a '(__mqadmin_names broker)'
complete -c mqadmin -n '__mqadmin_at \'topic update\' 0' -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'transaction list\'' -l topic -d 'only for this topic' -x -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'undo\'' -l list -d 'show the journal and change nothing'
complete -c mqadmin -n '__mqadmin_at \'wait broker\'' -l count -d 'brokers that must answer' -x
complete -c mqadmin -n '__mqadmin_at \'wait broker\'' -l within -d 'give up then' -x
complete -c mqadmin -n '__mqadmin_at \'wait broker\' 0' -a '(__mqadmin_names broker)'
complete -c mqadmin -n '__mqadmin_at \'wait group\'' -l members -d 'online, at least' -x
complete -c mqadmin -n '__mqadmin_at \'wait group\'' -l within -d 'give up then' -x
complete -c mqadmin -n '__mqadmin_at \'wait group\' 0' -a '(__mqadmin_names group)'
complete -c mqadmin -n '__mqadmin_at \'wait lag\'' -l max -d 'entries that may be left' -x
complete -c mqadmin -n '__mqadmin_at \'wait lag\'' -l within -d 'give up then' -x
complete -c mqadmin -n '__mqadmin_at \'wait lag\' 0' -a '(__mqadmin_names group)'
complete -c mqadmin -n '__mqadmin_at \'wait lag\' 1' -a '(__mqadmin_names topic)'
complete -c mqadmin -n '__mqadmin_at \'wait topic\'' -l queues -d 'readable queues, over all brokers' -x
complete -c mqadmin -n '__mqadmin_at \'wait topic\'' -l absent -d 'wait until it is gone'
complete -c mqadmin -n '__mqadmin_at \'wait topic\'' -l within -d 'give up then' -x
complete -c mqadmin -n '__mqadmin_at \'wait topic\' 0' -a '(__mqadmin_names topic)'
