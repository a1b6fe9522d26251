// Prints whether the library accepts each delivery from stdin, a JSON list of objects with secret, headers and body.
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use standardwebhooks::Webhook;

fn main() {
    let cases: Vec<Value> = serde_json::from_reader(std::io::stdin()).expect("a list");
    for case in cases {
        let mut headers = HeaderMap::new();
        for (name, value) in case["headers"].as_object().expect("headers") {
            let name = name.parse::<HeaderName>().expect("a name");
            headers.insert(name, text(value).parse::<HeaderValue>().expect("a value"));
        }
        let webhook = Webhook::new(text(&case["secret"])).expect("a secret");
        match webhook.verify(text(&case["body"]).as_bytes(), &headers) {
            Ok(()) => println!("accepted"),
            Err(_) => println!("refused"),
        }
    }
}

fn text(value: &Value) -> &str {
    value.as_str().expect("text")
}
