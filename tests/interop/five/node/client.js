// The official Node client of RocketMQ 5, driven by JSON lines on stdin.
//
// Its commands and answers are those of every program here: see
// tests/interop/kit/five_clients.py.
'use strict';

const fs = require('node:fs');
const readline = require('node:readline');
const {
  ConsumeResult,
  FilterExpression,
  Producer,
  PushConsumer,
  SimpleConsumer,
} = require('rocketmq-client-nodejs');
const {
  FilterType,
  TransactionResolution,
} = require('rocketmq-client-nodejs/proto/apache/rocketmq/v2/definition_pb');

const REQUEST_TIMEOUT_MS = 30_000;
const AWAIT_MS = 5_000;
const RESOLUTIONS = { commit: TransactionResolution.COMMIT, rollback: TransactionResolution.ROLLBACK };
const options = { endpoints: process.argv[2], sslEnabled: false, requestTimeout: REQUEST_TIMEOUT_MS };

const started = [];
const received = [];
let producer = null;
let consumer = null;

function say(line) {
  fs.writeSync(1, `${JSON.stringify(line)}\n`);
}

function described(message) {
  return {
    id: message.messageId,
    body: message.body.toString(),
    tag: message.tag ?? '',
    keys: message.keys,
    properties: Object.fromEntries(message.properties),
    group: message.messageGroup ?? '',
    attempt: message.deliveryAttempt,
  };
}

async function begun(client) {
  await client.startup();
  started.push(client);
  return client;
}

function subscriptions(command) {
  const kind = command.sql ? FilterType.SQL : FilterType.TAG;
  return new Map([[command.topic, new FilterExpression(command.filter, kind)]]);
}

const actions = {
  async produce({ topics, check }) {
    const checker = {
      async check(message) {
        say({ event: 'checked', ...described(message) });
        return RESOLUTIONS[check];
      },
    };
    producer = await begun(new Producer({ ...options, topics, checker: check ? checker : undefined }));
    return {};
  },

  async send(command) {
    const message = {
      topic: command.topic,
      body: Buffer.from(command.body),
      keys: command.keys,
      properties: new Map(Object.entries(command.properties)),
    };
    if (command.tag) message.tag = command.tag;
    if (command.group) message.messageGroup = command.group;
    if (command.deliver_s) message.deliveryTimestamp = new Date(command.deliver_s * 1000);
    if (!command.end) {
      const receipt = await producer.send(message);
      return { id: receipt.messageId, handle: receipt.recallHandle };
    }
    const transaction = producer.beginTransaction();
    const receipt = await producer.send(message, transaction);
    if (command.end === 'commit') await transaction.commit();
    if (command.end === 'rollback') await transaction.rollback();
    return { id: receipt.messageId, handle: '' };
  },

  async recall({ topic, handle }) {
    return { id: (await producer.recallMessage(topic, handle)).messageId };
  },

  async consume(command) {
    consumer = await begun(new SimpleConsumer({
      ...options,
      consumerGroup: command.group,
      subscriptions: subscriptions(command),
      awaitDuration: AWAIT_MS,
    }));
    return {};
  },

  async receive(command) {
    const messages = await consumer.receive(command.count, command.invisible_s * 1000);
    const told = messages.map((message, index) => ({
      number: received.length + index,
      ...described(message),
    }));
    received.push(...messages);
    return { messages: told };
  },

  async ack({ number }) {
    await consumer.ack(received[number]);
    return {};
  },

  async hide(command) {
    await consumer.changeInvisibleDuration(received[command.number], command.invisible_s * 1000);
    return {};
  },

  async listen(command) {
    const messageListener = {
      async consume(message) {
        say({ event: 'message', ...described(message) });
        return message.deliveryAttempt <= command.failures ? ConsumeResult.FAILURE : ConsumeResult.SUCCESS;
      },
    };
    await begun(new PushConsumer({
      ...options,
      consumerGroup: command.group,
      subscriptions: subscriptions(command),
      messageListener,
    }));
    return {};
  },

  async close() {
    while (started.length) await started.pop().shutdown();
    received.length = 0;
    return {};
  },
};

async function main() {
  say({ event: 'ready' });
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const command = JSON.parse(line);
    try {
      say({ re: command.re, ...(await actions[command.do](command)) });
    } catch (error) {
      say({ re: command.re, error: { code: error.code ?? null, text: String(error) } });
    }
  }
  process.exit(0);
}

main();
