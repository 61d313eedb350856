//! The JSON Schema of scene files, for editors.

use linkwork::Scene;
use serde_json::{Value, json};

/// The JSON Schema (draft 2020-12) of a scene file in either format.
pub fn schema() -> Value {
    let mut schema = schemars::schema_for!(Scene).to_value();
    if let Some(root) = schema.as_object_mut() {
        root.insert("title".to_owned(), json!("Linkwork scene"));
        if let Some(properties) = root.get_mut("properties").and_then(Value::as_object_mut) {
            properties.insert(
                SCHEMA_KEY.to_owned(),
                json!({
                    "description": "Where this schema is, for editors; otherwise ignored.",
                    "type": "string",
                }),
            );
        }
    }
    schema
}

/// The key by which an editor finds the schema of a file.
pub(crate) const SCHEMA_KEY: &str = "$schema";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_a_scene_is_described() {
        let schema = schema();
        let properties = schema["properties"].as_object().unwrap();
        let keys: Vec<&str> = properties.keys().map(String::as_str).collect();
        for key in ["name", "gravity", "step", "bodies", "joints"] {
            assert!(keys.contains(&key), "{key} not in {keys:?}");
            let described = properties[key].get("description").is_some() || properties[key].get("$ref").is_some();
            assert!(described, "{key}");
        }
        assert_eq!(schema["additionalProperties"], json!(false));
        assert!(schema["$defs"]["Joint"]["properties"]["axis"]["description"].is_string());
    }
}
