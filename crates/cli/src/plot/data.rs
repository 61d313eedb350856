//! What can be drawn from a file.

use crate::failure::Failure;
use crate::series::NAMES;
use linkwork_io::nearest;
use linkwork_io::recording::Recording;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Files above this size, bytes, are not read.
const LARGEST: u64 = 1 << 30;

/// A file with numbers.
#[derive(Debug)]
pub struct Data {
    /// The file's name as the user gave it.
    pub name: String,
    content: Content,
    /// What it cost and how good it was, for a report.
    pub work: Option<Work>,
}

#[derive(Debug)]
enum Content {
    /// Numbers over time by name.
    Course(BTreeMap<String, Series>),
    Table(Table),
}

/// A number over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Time in s, and the number.
    pub points: Vec<(f64, f64)>,
}

/// Cost and error of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// Scene and method.
    pub label: String,
    /// Step size or tolerance.
    pub setting: String,
    /// CPU seconds per simulated second.
    pub cpu_s_per_s: f64,
    /// Energy drift relative to the largest kinetic energy.
    pub drift: f64,
}

/// Columns by name; rows may belong to bodies.
#[derive(Debug)]
struct Table {
    columns: Vec<String>,
    bodies: Vec<String>,
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    body: usize,
    numbers: Vec<f64>,
}

impl Series {
    /// Nothing to see.
    pub fn is_zero(&self) -> bool {
        self.points.len() < 2 || self.points.iter().all(|point| point.1 == 0.0)
    }
}

impl Data {
    /// Reads a report, a table or a recording, by the end of its name.
    pub fn read(path: &Path) -> Result<Data, Failure> {
        let name = path.display().to_string();
        let unreadable =
            |error: std::io::Error| Failure::usage(format!("{name}: cannot be read: {error}"), "is the path right?");
        let length = std::fs::metadata(path).map_err(unreadable)?.len();
        if length > LARGEST {
            return Err(Failure::usage(
                format!("{name}: larger than {} MiB", LARGEST >> 20),
                "is this the right file?",
            ));
        }
        let bytes = std::fs::read(path).map_err(unreadable)?;
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        match extension {
            "json" => report(name, &bytes),
            "csv" => table(name, &bytes),
            // by whatever name it was written
            _ if Recording::is_one(&bytes) => recording(name, &bytes),
            "lwr" => recording(name, &bytes),
            _ => Err(Failure::usage(
                format!("{name}: not a file with numbers by its name"),
                "reports end in .json, tables in .csv and recordings in .lwr",
            )),
        }
    }

    /// Whether it is a table.
    pub fn is_table(&self) -> bool {
        matches!(self.content, Content::Table(_))
    }

    /// Bodies of a table.
    pub fn bodies(&self) -> &[String] {
        match &self.content {
            Content::Table(table) => &table.bodies,
            Content::Course(_) => &[],
        }
    }

    /// A number of the run over time.
    pub fn series(&self, name: &str) -> Option<Series> {
        match &self.content {
            Content::Course(course) => course.get(name).cloned(),
            Content::Table(_) => None,
        }
    }

    /// A column of a table: COLUMN, or BODY.COLUMN where rows belong to bodies.
    pub fn column(&self, asked: &str) -> Result<Series, Failure> {
        let Content::Table(table) = &self.content else {
            return Err(Failure::usage(format!("{}: `{asked}` is for tables", self.name), ""));
        };
        let wrong = |what: String, known: &[String]| {
            let hint = match nearest(asked.rsplit('.').next().unwrap_or(asked), known.iter().map(String::as_str)) {
                Some(close) => format!("did you mean `{close}`?"),
                None => format!("it has {}", known.iter().take(20).cloned().collect::<Vec<_>>().join(", ")),
            };
            Failure::failed(format!("{}: {what}", self.name), hint)
        };
        let (body, column) = match (table.bodies.is_empty(), asked.rsplit_once('.')) {
            (true, _) => (None, asked),
            (false, Some((body, column))) => (Some(body), column),
            (false, None) => {
                return Err(Failure::usage(
                    format!("{}: `{asked}` does not say of which body", self.name),
                    format!("write BODY.{asked}, as {}.{asked}", table.bodies[0]),
                ));
            }
        };
        let index = table.columns.iter().position(|name| name == column);
        let index = index.ok_or_else(|| wrong(format!("there is no column `{column}`"), &table.columns))?;
        let body = body
            .map(|body| {
                let found = table.bodies.iter().position(|name| name == body);
                found.ok_or_else(|| {
                    let hint = table.bodies.iter().take(20).cloned().collect::<Vec<_>>().join(", ");
                    Failure::failed(format!("{}: there is no body `{body}`", self.name), format!("it has {hint}"))
                })
            })
            .transpose()?;
        let rows = table.rows.iter().filter(|row| body.is_none_or(|body| row.body == body));
        Ok(Series { points: rows.map(|row| (row.numbers[0], row.numbers[index])).collect() })
    }
}

/// The unit of a column of `run --csv`.
pub fn unit_of(column: &str) -> &'static str {
    match column.rsplit('.').next().unwrap_or(column) {
        "x" | "y" | "z" => "m",
        "vx" | "vy" | "vz" => "m/s",
        "wx" | "wy" | "wz" => "rad/s",
        _ => "",
    }
}

fn with_total(mut course: BTreeMap<String, Series>) -> BTreeMap<String, Series> {
    let parts: Vec<&Series> = ["kinetic", "potential", "elastic"].iter().filter_map(|part| course.get(*part)).collect();
    if let [kinetic, potential, elastic] = parts.as_slice() {
        let mut points = kinetic.points.clone();
        for (sum, (b, c)) in points.iter_mut().zip(potential.points.iter().zip(&elastic.points)) {
            sum.1 += b.1 + c.1;
        }
        course.insert("total".to_owned(), Series { points });
    }
    course
}

fn report(name: String, bytes: &[u8]) -> Result<Data, Failure> {
    let hint = "reports are made by `linkwork run SCENE --report FILE.json`";
    let wrong = |problem: String| Failure::failed(format!("{name}: {problem}"), hint);
    let json: Value = serde_json::from_slice(bytes).map_err(|error| wrong(format!("not JSON: {error}")))?;
    let course = json.get("course").ok_or_else(|| wrong("no report of a run: it has no `course`".to_owned()))?;
    let column = |key: &str| -> Result<Vec<f64>, Failure> {
        let values = course.get(key).and_then(Value::as_array);
        let values = values.ok_or_else(|| wrong(format!("course.{key}: missing, or no list of numbers")))?;
        let number = |(k, value): (usize, &Value)| match value {
            // what is not finite
            Value::Null => Ok(f64::NAN),
            value => value.as_f64().ok_or_else(|| wrong(format!("course.{key}[{k}]: {value} is no number"))),
        };
        values.iter().enumerate().map(number).collect()
    };
    let time = column("time")?;
    let mut series = BTreeMap::new();
    for key in NAMES {
        let values = column(key)?;
        if values.len() != time.len() {
            return Err(wrong(format!("course.{key}: {} numbers for {} times", values.len(), time.len())));
        }
        series.insert(key.to_owned(), Series { points: time.iter().copied().zip(values).collect() });
    }
    let real = |path: &str| json.pointer(path).and_then(Value::as_f64);
    let text = |path: &str| json.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
    let work = match (real("/cpu_s"), real("/simulated_s"), real("/energy/drift_relative"), real("/dt")) {
        (Some(cpu), Some(simulated), Some(drift), Some(dt)) if simulated > 0.0 => Some(Work {
            label: format!("{} {}", text("/scene"), text("/method")).trim().to_owned(),
            setting: match real("/tolerance") {
                Some(tolerance) => format!("tolerance {tolerance:.0e}"),
                None => format!("dt {}", crate::table::figure(dt)),
            },
            cpu_s_per_s: cpu / simulated,
            drift,
        }),
        _ => None,
    };
    Ok(Data { name, content: Content::Course(with_total(series)), work })
}

fn recording(name: String, bytes: &[u8]) -> Result<Data, Failure> {
    let recording = Recording::read(bytes).map_err(|error| Failure::failed(format!("{name}: {error}"), ""))?;
    let mut course = BTreeMap::new();
    for (k, key) in NAMES.iter().enumerate() {
        let points = recording.frames.iter().map(|f| (f.time, f64::from(f.stats.to_array()[k]))).collect();
        course.insert((*key).to_owned(), Series { points });
    }
    Ok(Data { name, content: Content::Course(with_total(course)), work: None })
}

fn table(name: String, bytes: &[u8]) -> Result<Data, Failure> {
    let wrong = |line: usize, problem: String| {
        Failure::failed(format!("{name}:{line}: {problem}"), "tables are made by `linkwork run SCENE --csv FILE`")
    };
    let text = std::str::from_utf8(bytes).map_err(|_| wrong(1, "not text".to_owned()))?;
    let mut records = records(text);
    let (_, header) = records.next().ok_or_else(|| wrong(1, "the file is empty".to_owned()))?;
    if header.first().map(String::as_str) != Some("time") {
        return Err(wrong(1, "the first column is not `time`".to_owned()));
    }
    let of_bodies = header.get(1).is_some_and(|column| column == "body");
    let is_number = |k: usize| !(of_bodies && k == 1);
    let columns: Vec<String> =
        header.iter().enumerate().filter(|(k, _)| is_number(*k)).map(|(_, c)| c.clone()).collect();
    let (mut bodies, mut index, mut rows) = (Vec::new(), BTreeMap::new(), Vec::new());
    for (line, fields) in records {
        if fields.len() != header.len() {
            return Err(wrong(line, format!("{} fields under {} columns", fields.len(), header.len())));
        }
        let mut numbers = Vec::with_capacity(columns.len());
        for (k, field) in fields.iter().enumerate().filter(|(k, _)| is_number(*k)) {
            let number = field.trim().parse::<f64>();
            numbers.push(number.map_err(|_| wrong(line, format!("column `{}`: `{field}` is no number", header[k])))?);
        }
        let body = match of_bodies {
            false => 0,
            true => *index.entry(fields[1].clone()).or_insert_with(|| {
                bodies.push(fields[1].clone());
                bodies.len() - 1
            }),
        };
        rows.push(Row { body, numbers });
    }
    Ok(Data { name, content: Content::Table(Table { columns, bodies, rows }), work: None })
}

/// The records of a table with the line on which each begins: fields between commas, quoted where they contain some.
fn records(text: &str) -> impl Iterator<Item = (usize, Vec<String>)> + '_ {
    let (mut characters, mut line) = (text.chars().peekable(), 1);
    std::iter::from_fn(move || {
        while characters.next_if(|c| matches!(c, '\n' | '\r')).inspect(|c| line += usize::from(*c == '\n')).is_some() {}
        characters.peek()?;
        let (begun, mut fields, mut field, mut quoted) = (line, Vec::new(), String::new(), false);
        loop {
            match characters.next() {
                Some('"') if quoted && characters.next_if_eq(&'"').is_some() => field.push('"'),
                Some('"') => quoted = !quoted,
                Some(',') if !quoted => fields.push(std::mem::take(&mut field)),
                Some('\r') if !quoted => {}
                Some('\n') if !quoted => {
                    line += 1;
                    break;
                }
                Some(c) => {
                    line += usize::from(c == '\n');
                    field.push(c);
                }
                None => break,
            }
        }
        fields.push(field);
        Some((begun, fields))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_fields_are_read() {
        let read: Vec<_> = records("a,\"b, \"\"c\"\"\"\r\n1,\"x\ny\"\n\n2,3").collect();
        let fields = |fields: &[&str]| fields.iter().map(|f| f.to_string()).collect::<Vec<_>>();
        assert_eq!(read, [(1, fields(&["a", "b, \"c\""])), (2, fields(&["1", "x\ny"])), (5, fields(&["2", "3"]))]);
    }

    #[test]
    fn columns_of_bodies_are_found() {
        let text = "time,body,x\n0,a.b,1\n0,c,2\n1,a.b,3\n1,c,4\n";
        let data = table("t.csv".to_owned(), text.as_bytes()).unwrap();
        assert_eq!(data.column("a.b.x").unwrap().points, [(0.0, 1.0), (1.0, 3.0)]);
        assert!(data.column("c.y").unwrap_err().text().contains("t.csv: there is no column `y`"));
        assert!(data.column("d.x").unwrap_err().text().contains("there is no body `d`"));
        assert!(data.column("x").unwrap_err().text().contains("BODY.x"));
        let wrong = table("t.csv".to_owned(), b"time,body,x\n0,a,1\n0,a,one\n").unwrap_err();
        assert!(wrong.text().contains("t.csv:3: column `x`: `one` is no number"), "{}", wrong.text());
    }
}
