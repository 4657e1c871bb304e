//! Servers that misbehave.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver};
use std::thread;

/// A listener whose connections are each handled by `script` on a thread of its own.
pub struct Script {
    port: u16,
    commands: Receiver<Vec<String>>,
}

impl Script {
    /// `script` gets what answers one connection; when it returns, the connection is closed.
    pub fn start<F>(script: F) -> Self
    where
        F: Fn(&mut Peer) -> io::Result<()> + Send + Sync + Clone + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").expect("listen");
        let port = listener.local_addr().expect("address").port();
        let (sender, commands) = mpsc::channel();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let script = script.clone();
                let sender = sender.clone();
                thread::spawn(move || {
                    let reader = BufReader::new(stream.try_clone()?);
                    script(&mut Peer { stream, reader, sender })
                });
            }
        });
        Self { port, commands }
    }

    /// A server that answers PING, and everything else with `reply`.
    pub fn answering(reply: &'static [u8]) -> Self {
        Self::start(move |peer| {
            peer.greet()?;
            loop {
                peer.command()?;
                peer.send(reply)?;
            }
        })
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Every command received so far.
    pub fn commands(&self) -> Vec<Vec<String>> {
        self.commands.try_iter().collect()
    }
}

/// One connection, from the server's side.
pub struct Peer {
    stream: TcpStream,
    reader: BufReader<TcpStream>,
    sender: mpsc::Sender<Vec<String>>,
}

impl Peer {
    /// Reads one command.
    pub fn command(&mut self) -> io::Result<Vec<String>> {
        let count = self.number()?;
        let mut command = Vec::with_capacity(count);
        for _ in 0..count {
            let length = self.number()?;
            let mut bytes = vec![0; length + 2];
            io::Read::read_exact(&mut self.reader, &mut bytes)?;
            bytes.truncate(length);
            command.push(String::from_utf8_lossy(&bytes).into_owned());
        }
        let _ = self.sender.send(command.clone());
        Ok(command)
    }

    /// The port the listener has.
    pub fn port(&self) -> u16 {
        self.stream.local_addr().expect("address").port()
    }

    /// Answers the PING that opens a connection.
    pub fn greet(&mut self) -> io::Result<()> {
        self.command()?;
        self.send(b"+PONG\r\n")
    }

    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    fn number(&mut self) -> io::Result<usize> {
        let mut line = String::new();
        if self.reader.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        line.trim()
            .trim_start_matches(['*', '$'])
            .parse()
            .map_err(io::Error::other)
    }
}
