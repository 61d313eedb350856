//! A viewer that runs, and pages that look at it.

use crate::command::command;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use tungstenite::client::IntoClientRequest;
use tungstenite::{Message, WebSocket};

/// Nothing that is waited for takes longer, even on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Where tests of the page are required (.ci/run) this is set.
pub const REQUIRED: &str = "LINKWORK_REQUIRE_BROWSER";

/// Says why a test is skipped; where tests of the page are required that is a failure.
pub fn skip(why: &str) {
    assert!(std::env::var_os(REQUIRED).is_none(), "{why}");
    eprintln!("skipped: {why}");
}

/// `linkwork view`, ended when dropped.
pub struct Viewer {
    child: Child,
    /// `127.0.0.1:12345`.
    pub host: String,
}

impl Viewer {
    /// Starts the viewer; nothing if the command was built without its page, which is said, or fails where the page is required.
    pub fn start(arguments: &[&str]) -> Option<Viewer> {
        let mut child = command(&[&["view", "--no-open"], arguments].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        if line.is_empty() {
            let mut said = String::new();
            child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
            let _ = child.wait();
            assert!(said.contains("built without the viewer's page"), "{said}");
            skip(&said);
            return None;
        }
        let host = line.trim().strip_prefix("http://").unwrap().trim_end_matches('/').to_owned();
        Some(Viewer { child, host })
    }

    /// Status and body of a request with these lines in its head.
    pub fn request(&self, first: &str, head: &[&str], body: &[u8]) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut text = format!("{first} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
        head.iter().for_each(|line| text.push_str(&format!("{line}\r\n")));
        stream.write_all(text.as_bytes()).unwrap();
        stream.write_all(b"\r\n").unwrap();
        // the server may refuse before it has read everything
        let _ = stream.write_all(body);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or(0);
        (status, answer)
    }

    /// A page's connection.
    pub fn page(&self) -> Page {
        self.page_from(&format!("http://{}", self.host)).unwrap()
    }

    /// A connection of a page from elsewhere.
    pub fn page_from(&self, origin: &str) -> Result<Page, String> {
        let mut request = format!("ws://{}/socket", self.host).into_client_request().unwrap();
        request.headers_mut().insert("origin", origin.parse().unwrap());
        let stream = TcpStream::connect(&self.host).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let (socket, _) = tungstenite::client(request, stream).map_err(|error| error.to_string())?;
        Ok(Page { socket, scene: Value::Null })
    }

    /// Ends the viewer; what it said on stderr.
    pub fn stop(mut self) -> String {
        let _ = self.child.kill();
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        said
    }

    /// Ctrl-C; the exit code.
    #[cfg(unix)]
    pub fn interrupt(mut self) -> Option<i32> {
        let kill = std::process::Command::new("kill").args(["-INT", &self.child.id().to_string()]).status();
        assert!(kill.unwrap().success());
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        None
    }

    /// Whether the process still runs.
    pub fn lives(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a page sees.
pub struct Page {
    pub socket: WebSocket<TcpStream>,
    /// The last scene it was sent.
    pub scene: Value,
}

/// A frame's head and poses.
#[derive(Clone, Debug)]
pub struct Frame {
    pub playing: bool,
    pub scene: u32,
    pub time: f64,
    pub steps: f64,
    pub positions: Vec<[f32; 3]>,
    pub bytes: Vec<u8>,
}

impl Frame {
    fn read(bytes: Vec<u8>) -> Frame {
        let word = |at: usize| <[u8; 4]>::try_from(&bytes[at..at + 4]).unwrap();
        let double = |at: usize| f64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        assert_eq!(&bytes[..2], b"L\x02");
        let count = u32::from_le_bytes(word(12)) as usize;
        assert_eq!(u32::from_le_bytes(word(72)), 1, "poses come first");
        assert_eq!(u32::from_le_bytes(word(76)) as usize, 18 * count);
        let position = |k: usize| [0, 1, 2].map(|axis| f32::from_le_bytes(word(80 + 12 * k + 4 * axis)));
        Frame {
            playing: bytes[2] & 1 != 0,
            scene: u32::from_le_bytes(word(4)),
            time: double(16),
            steps: double(24),
            positions: (0..count).map(position).collect(),
            bytes,
        }
    }

    /// Content of a section.
    pub fn section(&self, kind: u32) -> Option<&[u8]> {
        let word = |at: usize| u32::from_le_bytes(self.bytes[at..at + 4].try_into().unwrap());
        let mut at = 72;
        while at < self.bytes.len() {
            let length = word(at + 4) as usize;
            if word(at) == kind {
                return Some(&self.bytes[at + 8..at + 8 + length]);
            }
            at += 8 + length.next_multiple_of(4);
        }
        None
    }
}

impl Page {
    pub fn send(&mut self, message: &Value) {
        self.socket.send(Message::text(message.to_string())).unwrap();
    }

    /// Reads until something is found; remembers scenes on the way.
    fn until<T>(&mut self, what: &str, mut find: impl FnMut(&Message) -> Option<T>) -> T {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            let message = match self.socket.read() {
                Ok(message) => message,
                // a signal to some other child: nothing was read
                Err(tungstenite::Error::Io(error)) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => panic!("waiting for {what}: {error}"),
            };
            if let Message::Text(text) = &message
                && let Ok(json) = serde_json::from_str::<Value>(text)
                && json["type"] == "scene"
            {
                self.scene = json;
            }
            if let Some(found) = find(&message) {
                return found;
            }
        }
        panic!("no {what} came");
    }

    /// The next message of a type that fits.
    pub fn text(&mut self, kind: &str, fits: impl Fn(&Value) -> bool) -> Value {
        self.until(kind, |message| match message {
            Message::Text(text) => {
                serde_json::from_str::<Value>(text).ok().filter(|json| json["type"] == kind && fits(json))
            }
            _ => None,
        })
    }

    /// The next frame that fits.
    pub fn frame(&mut self, fits: impl Fn(&Frame) -> bool) -> Frame {
        self.until("frame", |message| match message {
            Message::Binary(bytes) if !bytes.is_empty() => {
                Some(Frame::read(bytes.to_vec())).filter(|frame| fits(frame))
            }
            _ => None,
        })
    }

    /// The number of the scene, once it has come.
    pub fn scene_number(&mut self) -> u64 {
        if self.scene.is_null() {
            self.text("scene", |_| true);
        }
        self.scene["scene"].as_u64().unwrap()
    }
}
