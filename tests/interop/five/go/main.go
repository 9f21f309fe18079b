// The official Go client of RocketMQ 5, driven by JSON lines on stdin.
//
// Its commands and answers are those of every program here: see
// tests/interop/kit/five_clients.py. Version 5.1.2 has no push consumer and no recall.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	rocketmq "github.com/apache/rocketmq-clients/golang/v5"
	"github.com/apache/rocketmq-clients/golang/v5/credentials"
)

const (
	awaitDuration  = 5 * time.Second
	requestTimeout = 30 * time.Second
)

type command struct {
	Re         int               `json:"re"`
	Do         string            `json:"do"`
	Topics     []string          `json:"topics"`
	Check      string            `json:"check"`
	Topic      string            `json:"topic"`
	Body       string            `json:"body"`
	Tag        string            `json:"tag"`
	Keys       []string          `json:"keys"`
	Properties map[string]string `json:"properties"`
	Group      string            `json:"group"`
	DeliverS   int64             `json:"deliver_s"`
	End        string            `json:"end"`
	Filter     string            `json:"filter"`
	SQL        bool              `json:"sql"`
	Count      int32             `json:"count"`
	InvisibleS int64             `json:"invisible_s"`
	Number     int               `json:"number"`
}

type line map[string]any

type client struct {
	config   *rocketmq.Config
	producer rocketmq.Producer
	consumer rocketmq.SimpleConsumer
	received []*rocketmq.MessageView
}

var saying sync.Mutex

func say(told line) {
	text, err := json.Marshal(told)
	if err != nil {
		panic(err)
	}
	saying.Lock()
	defer saying.Unlock()
	fmt.Println(string(text))
}

func text(value *string) string {
	if value == nil {
		return ""
	}
	return *value
}

func described(message *rocketmq.MessageView) line {
	return line{
		"id":         message.GetMessageId(),
		"body":       string(message.GetBody()),
		"tag":        text(message.GetTag()),
		"keys":       message.GetKeys(),
		"properties": message.GetProperties(),
		"group":      text(message.GetMessageGroup()),
		"attempt":    message.GetDeliveryAttempt(),
	}
}

func (c *client) act(told *command) (line, error) {
	switch told.Do {
	case "produce":
		return line{}, c.produce(told)
	case "send":
		return c.send(told)
	case "consume":
		return line{}, c.consume(told)
	case "receive":
		return c.receive(told)
	case "ack":
		return line{}, c.consumer.Ack(context.Background(), c.received[told.Number])
	case "hide":
		invisible := time.Duration(told.InvisibleS) * time.Second
		return line{}, c.consumer.ChangeInvisibleDuration(c.received[told.Number], invisible)
	case "close":
		return line{}, c.close()
	}
	return nil, fmt.Errorf("this client does not know %s", told.Do)
}

func (c *client) produce(told *command) (err error) {
	options := []rocketmq.ProducerOption{rocketmq.WithTopics(told.Topics...)}
	if told.Check != "" {
		answer := rocketmq.COMMIT
		if told.Check == "rollback" {
			answer = rocketmq.ROLLBACK
		}
		options = append(options, rocketmq.WithTransactionChecker(&rocketmq.TransactionChecker{
			Check: func(message *rocketmq.MessageView) rocketmq.TransactionResolution {
				event := described(message)
				event["event"] = "checked"
				say(event)
				return answer
			},
		}))
	}
	if c.producer, err = rocketmq.NewProducer(c.config, options...); err != nil {
		return err
	}
	return c.producer.Start()
}

func (c *client) send(told *command) (line, error) {
	message := &rocketmq.Message{Topic: told.Topic, Body: []byte(told.Body)}
	message.SetKeys(told.Keys...)
	for name, value := range told.Properties {
		message.AddProperty(name, value)
	}
	if told.Tag != "" {
		message.SetTag(told.Tag)
	}
	if told.Group != "" {
		message.SetMessageGroup(told.Group)
	}
	if told.DeliverS > 0 {
		message.SetDelayTimestamp(time.Unix(told.DeliverS, 0))
	}
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	if told.End == "" {
		receipts, err := c.producer.Send(ctx, message)
		if err != nil {
			return nil, err
		}
		return line{"id": receipts[0].MessageID, "handle": ""}, nil
	}
	transaction := c.producer.BeginTransaction()
	receipts, err := c.producer.SendWithTransaction(ctx, message, transaction)
	if err != nil {
		return nil, err
	}
	switch told.End {
	case "commit":
		err = transaction.Commit()
	case "rollback":
		err = transaction.RollBack()
	}
	return line{"id": receipts[0].MessageID, "handle": ""}, err
}

func (c *client) consume(told *command) (err error) {
	kind := rocketmq.TAG
	if told.SQL {
		kind = rocketmq.SQL92
	}
	filter := rocketmq.NewFilterExpressionWithType(told.Filter, kind)
	config := *c.config
	config.ConsumerGroup = told.Group
	c.consumer, err = rocketmq.NewSimpleConsumer(
		&config,
		rocketmq.WithAwaitDuration(awaitDuration),
		rocketmq.WithSubscriptionExpressions(map[string]*rocketmq.FilterExpression{told.Topic: filter}),
	)
	if err != nil {
		return err
	}
	return c.consumer.Start()
}

func (c *client) receive(told *command) (line, error) {
	invisible := time.Duration(told.InvisibleS) * time.Second
	messages, err := c.consumer.Receive(context.Background(), told.Count, invisible)
	var status *rocketmq.ErrRpcStatus
	if errors.As(err, &status) && status.Code == messageNotFound {
		err = nil
	}
	found := []line{}
	for _, message := range messages {
		each := described(message)
		each["number"] = len(c.received)
		c.received = append(c.received, message)
		found = append(found, each)
	}
	return line{"messages": found}, err
}

// messageNotFound is the code of the protocol for: nothing came in time.
const messageNotFound = 40401

func (c *client) close() error {
	c.received = nil
	if c.producer != nil {
		if err := c.producer.GracefulStop(); err != nil {
			return err
		}
		c.producer = nil
	}
	if c.consumer != nil {
		if err := c.consumer.GracefulStop(); err != nil {
			return err
		}
		c.consumer = nil
	}
	return nil
}

func main() {
	c := &client{config: &rocketmq.Config{
		Endpoint:    os.Args[1],
		Credentials: &credentials.SessionCredentials{},
	}}
	say(line{"event": "ready"})
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var told command
		if err := json.Unmarshal(lines.Bytes(), &told); err != nil {
			panic(err)
		}
		answer, err := c.act(&told)
		if err != nil {
			failure := line{"code": nil, "text": err.Error()}
			var status *rocketmq.ErrRpcStatus
			if errors.As(err, &status) {
				failure["code"] = status.Code
			}
			answer = line{"error": failure}
		}
		answer["re"] = told.Re
		say(answer)
	}
}
