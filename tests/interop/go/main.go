// Sends and receives with the Go client of RocketMQ, as the interop tests ask.
//
//	interop MODE NAMESRV TOPIC GROUP COUNT
//
// Modes: send (sync, async, oneway, batch, delay), push, orderly, pull, transaction. Every
// line on stdout is a JSON object; a mode that receives ends after COUNT messages.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	rocketmq "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"
)

const patience = 60 * time.Second

type order struct {
	namesrv, topic, group string
	count                 int
}

type line struct {
	Event  string `json:"event"`
	How    string `json:"how,omitempty"`
	Status int    `json:"status"`
	Body   string `json:"body,omitempty"`
	Tags   string `json:"tags,omitempty"`
	Keys   string `json:"keys,omitempty"`
	Queue  int    `json:"queue"`
	Offset int64  `json:"offset"`
	Times  int32  `json:"times"`
}

var printing sync.Mutex

func say(l line) {
	printing.Lock()
	defer printing.Unlock()
	text, err := json.Marshal(l)
	check(err)
	fmt.Println(string(text))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func received(m *primitive.MessageExt) line {
	return line{
		Event: "message", Body: string(m.Body), Tags: m.GetTags(), Keys: m.GetKeys(),
		Queue: m.Queue.QueueId, Offset: m.QueueOffset, Times: m.ReconsumeTimes,
	}
}

func sent(how string, r *primitive.SendResult) {
	say(line{Event: "sent", How: how, Status: int(r.Status), Queue: r.MessageQueue.QueueId, Offset: r.QueueOffset})
}

func message(o order, how string, i int) *primitive.Message {
	m := primitive.NewMessage(o.topic, []byte(fmt.Sprintf("%s %d", how, i)))
	m.WithTag("Tag" + strconv.Itoa(i%2))
	m.WithKeys([]string{how + strconv.Itoa(i)})
	m.WithShardingKey(strconv.Itoa(i % 2))
	return m
}

func send(o order) {
	p, err := rocketmq.NewProducer(
		producer.WithNameServer(primitive.NamesrvAddr{o.namesrv}),
		producer.WithGroupName(o.group),
		producer.WithSendMsgTimeout(10*time.Second),
		producer.WithQueueSelector(producer.NewHashQueueSelector()),
	)
	check(err)
	check(p.Start())
	ctx := context.Background()
	var batch []*primitive.Message
	var left sync.WaitGroup
	for i := 0; i < o.count; i++ {
		r, err := p.SendSync(ctx, message(o, "sync", i))
		check(err)
		sent("sync", r)
		left.Add(1)
		check(p.SendAsync(ctx, func(_ context.Context, r *primitive.SendResult, err error) {
			check(err)
			sent("async", r)
			left.Done()
		}, message(o, "async", i)))
		check(p.SendOneWay(ctx, message(o, "oneway", i)))
		batch = append(batch, message(o, "batch", i))
	}
	left.Wait()
	r, err := p.SendSync(ctx, batch...)
	check(err)
	sent("batch", r)
	late := message(o, "delay", 0)
	late.WithDelayTimeLevel(1)
	r, err = p.SendSync(ctx, late)
	check(err)
	sent("delay", r)
	check(p.Shutdown())
}

func push(o order, orderly bool) {
	c, err := rocketmq.NewPushConsumer(
		consumer.WithNameServer(primitive.NamesrvAddr{o.namesrv}),
		consumer.WithGroupName(o.group),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
		consumer.WithConsumerOrder(orderly),
	)
	check(err)
	var left sync.WaitGroup
	left.Add(o.count)
	refused := false
	err = c.Subscribe(o.topic, consumer.MessageSelector{}, func(_ context.Context,
		ms ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		for _, m := range ms {
			// One message is refused once, so that it comes back by the retry topic.
			if !orderly && !refused && string(m.Body) == "sync 0" {
				refused = true
				return consumer.ConsumeRetryLater, nil
			}
		}
		for _, m := range ms {
			say(received(m))
			left.Done()
		}
		return consumer.ConsumeSuccess, nil
	})
	check(err)
	check(c.Start())
	left.Wait()
	check(c.Shutdown())
}

func pull(o order) {
	c, err := rocketmq.NewPullConsumer(
		consumer.WithNameServer(primitive.NamesrvAddr{o.namesrv}),
		consumer.WithGroupName(o.group),
	)
	check(err)
	check(c.Subscribe(o.topic, consumer.MessageSelector{Type: consumer.TAG, Expression: "*"}))
	check(c.Start())
	ctx := context.Background()
	for got := 0; got < o.count; {
		request, err := c.Poll(ctx, 5*time.Second)
		if err != nil {
			continue
		}
		for _, m := range request.GetMsgList() {
			say(received(m))
			got++
		}
		c.ACK(ctx, request, consumer.ConsumeSuccess)
	}
	check(c.Shutdown())
}

type decisions struct{}

func (decisions) ExecuteLocalTransaction(m *primitive.Message) primitive.LocalTransactionState {
	switch m.GetTags() {
	case "Commit":
		return primitive.CommitMessageState
	case "Rollback":
		return primitive.RollbackMessageState
	default:
		return primitive.UnknowState
	}
}

func (decisions) CheckLocalTransaction(m *primitive.MessageExt) primitive.LocalTransactionState {
	say(line{Event: "checked", Body: string(m.Body), Tags: m.GetTags()})
	return primitive.CommitMessageState
}

func transaction(o order) {
	p, err := rocketmq.NewTransactionProducer(decisions{},
		producer.WithNameServer(primitive.NamesrvAddr{o.namesrv}),
		producer.WithGroupName(o.group),
		producer.WithSendMsgTimeout(10*time.Second),
	)
	check(err)
	check(p.Start())
	for _, tag := range []string{"Commit", "Rollback", "Unknown"} {
		m := primitive.NewMessage(o.topic, []byte(tag))
		m.WithTag(tag)
		r, err := p.SendMessageInTransaction(context.Background(), m)
		check(err)
		sent(tag, r.SendResult)
	}
	// The unknown one is asked about later; whoever started this says when that is seen.
	fmt.Fprintln(os.Stderr, "waiting for stdin to close")
	buffer := make([]byte, 1)
	_, _ = os.Stdin.Read(buffer)
	check(p.Shutdown())
}

func main() {
	count, err := strconv.Atoi(os.Args[5])
	check(err)
	o := order{os.Args[2], os.Args[3], os.Args[4], count}
	rlog.SetLogLevel("error")
	time.AfterFunc(patience, func() { check(fmt.Errorf("not done after %s", patience)) })
	switch os.Args[1] {
	case "send":
		send(o)
	case "push":
		push(o, false)
	case "orderly":
		push(o, true)
	case "pull":
		pull(o)
	case "transaction":
		transaction(o)
	default:
		check(fmt.Errorf("mode %s is none of send, push, orderly, pull, transaction", os.Args[1]))
	}
}
