//! The official Rust client of RocketMQ 5, driven by JSON lines on stdin.
//!
//! Its commands and answers are those of every program here: see
//! tests/interop/kit/five_clients.py. The crate has no push consumer, no change of the invisible
//! time, and no recall.

use std::collections::HashMap;
use std::io::BufRead;
use std::time::Duration;

use rocketmq::conf::{ClientOption, ProducerOption, SimpleConsumerOption};
use rocketmq::model::common::{FilterExpression, FilterType};
use rocketmq::model::message::{MessageBuilder, MessageView};
use rocketmq::model::transaction::{Transaction, TransactionResolution};
use rocketmq::{Producer, SimpleConsumer};
use serde_json::{json, Value};

type Failure = Box<dyn std::error::Error>;

const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
// The client waits no longer than it asks the endpoint to wait, so it asks for more than the 20 s
// after which an endpoint answers at the latest.
const AWAIT: Duration = Duration::from_secs(25);

fn text(command: &Value, name: &str) -> String {
    command[name].as_str().unwrap_or_default().to_string()
}

fn texts(command: &Value, name: &str) -> Vec<String> {
    let values = command[name].as_array().cloned().unwrap_or_default();
    values.iter().filter_map(|value| value.as_str().map(str::to_string)).collect()
}

fn properties(command: &Value) -> HashMap<String, String> {
    let values = command["properties"].as_object().cloned().unwrap_or_default();
    let text_of = |value: Value| value.as_str().unwrap_or_default().to_string();
    values.into_iter().map(|(name, value)| (name, text_of(value))).collect()
}

fn described(message: &MessageView) -> Value {
    json!({
        "id": message.message_id(),
        "body": String::from_utf8_lossy(message.body()),
        "tag": message.tag().unwrap_or_default(),
        "keys": message.keys(),
        "properties": message.properties(),
        "group": message.message_group().unwrap_or_default(),
        "attempt": message.delivery_attempt(),
    })
}

/// What one scenario has started.
struct Client {
    endpoint: String,
    producer: Option<Producer>,
    consumer: Option<SimpleConsumer>,
    topic: String,
    filter: FilterExpression,
    received: Vec<MessageView>,
}

impl Client {
    fn options(&self) -> ClientOption {
        let mut options = ClientOption::default();
        options.set_access_url(self.endpoint.clone());
        options.set_enable_tls(false);
        options.set_timeout(REQUEST_TIMEOUT);
        options.set_long_polling_timeout(AWAIT);
        options
    }

    async fn act(&mut self, command: &Value) -> Result<Value, Failure> {
        match command["do"].as_str().unwrap_or_default() {
            "produce" => self.produce(command).await,
            "send" => self.send(command).await,
            "consume" => self.consume(command).await,
            "receive" => self.receive(command).await,
            "ack" => self.ack(command).await,
            "close" => self.close().await,
            other => Err(format!("this client does not know {other}").into()),
        }
    }

    async fn produce(&mut self, command: &Value) -> Result<Value, Failure> {
        let mut option = ProducerOption::default();
        option.set_topics(texts(command, "topics"));
        let check = text(command, "check");
        let mut producer = if check.is_empty() {
            Producer::new(option, self.options())?
        } else {
            let answer = move |_: String, message: MessageView| {
                let mut event = described(&message);
                event["event"] = json!("checked");
                println!("{event}");
                match check.as_str() {
                    "commit" => TransactionResolution::COMMIT,
                    _ => TransactionResolution::ROLLBACK,
                }
            };
            Producer::new_transaction_producer(option, self.options(), Box::new(answer))?
        };
        producer.start().await?;
        self.producer = Some(producer);
        Ok(json!({}))
    }

    async fn send(&self, command: &Value) -> Result<Value, Failure> {
        let producer = self.producer.as_ref().ok_or("no producer is started")?;
        let end = text(command, "end");
        let mut builder = MessageBuilder::builder()
            .set_topic(text(command, "topic"))
            .set_body(text(command, "body").into_bytes())
            .set_keys(texts(command, "keys"))
            .set_properties(properties(command));
        if !text(command, "tag").is_empty() {
            builder = builder.set_tag(text(command, "tag"));
        }
        if !text(command, "group").is_empty() {
            builder = builder.set_message_group(text(command, "group"));
        }
        if let Some(deliver_s) = command["deliver_s"].as_i64().filter(|&s| s > 0) {
            builder = builder.set_delivery_timestamp(deliver_s);
        }
        if end.is_empty() {
            let receipt = producer.send(builder.build()?).await?;
            return Ok(json!({"id": receipt.message_id(), "handle": ""}));
        }
        let message = builder.enable_transaction().build()?;
        let transaction = producer.send_transaction_message(message).await?;
        let id = transaction.message_id().to_string();
        match end.as_str() {
            "commit" => transaction.commit().await?,
            "rollback" => transaction.rollback().await?,
            _ => (),
        }
        Ok(json!({"id": id, "handle": ""}))
    }

    async fn consume(&mut self, command: &Value) -> Result<Value, Failure> {
        self.topic = text(command, "topic");
        let kind = match command["sql"].as_bool() {
            Some(true) => FilterType::Sql,
            _ => FilterType::Tag,
        };
        self.filter = FilterExpression::new(kind, text(command, "filter"));
        let mut option = SimpleConsumerOption::default();
        option.set_consumer_group(text(command, "group"));
        option.set_topics(vec![self.topic.clone()]);
        let mut consumer = SimpleConsumer::new(option, self.options())?;
        consumer.start().await?;
        self.consumer = Some(consumer);
        Ok(json!({}))
    }

    async fn receive(&mut self, command: &Value) -> Result<Value, Failure> {
        let consumer = self.consumer.as_ref().ok_or("no consumer is started")?;
        let count = command["count"].as_i64().unwrap_or(1) as i32;
        let invisible = Duration::from_secs(command["invisible_s"].as_u64().unwrap_or(60));
        let messages = consumer.receive_with(&self.topic, &self.filter, count, invisible).await?;
        let mut told = vec![];
        for message in messages {
            let mut line = described(&message);
            line["number"] = json!(self.received.len());
            told.push(line);
            self.received.push(message);
        }
        Ok(json!({"messages": told}))
    }

    async fn ack(&self, command: &Value) -> Result<Value, Failure> {
        let consumer = self.consumer.as_ref().ok_or("no consumer is started")?;
        let number = command["number"].as_u64().unwrap_or_default() as usize;
        let message = self.received.get(number).ok_or("no message has this number")?;
        consumer.ack(message).await?;
        Ok(json!({}))
    }

    async fn close(&mut self) -> Result<Value, Failure> {
        if let Some(producer) = self.producer.take() {
            producer.shutdown().await?;
        }
        if let Some(consumer) = self.consumer.take() {
            consumer.shutdown().await?;
        }
        self.received.clear();
        Ok(json!({}))
    }
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let mut client = Client {
        endpoint: std::env::args().nth(1).ok_or("the first argument is the endpoint")?,
        producer: None,
        consumer: None,
        topic: String::new(),
        filter: FilterExpression::new(FilterType::Tag, "*"),
        received: vec![],
    };
    println!("{}", json!({"event": "ready"}));
    // Reading blocks one thread; the client works in the others.
    for line in std::io::stdin().lock().lines() {
        let command: Value = serde_json::from_str(&line?)?;
        let mut answer = match client.act(&command).await {
            Ok(answer) => answer,
            Err(failure) => json!({"error": {"code": null, "text": failure.to_string()}}),
        };
        answer["re"] = command["re"].clone();
        println!("{answer}");
    }
    Ok(())
}
