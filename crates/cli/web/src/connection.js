// The socket to the simulation: it comes back by itself.

export class Connection {
  /** `on` has text(message), frame(buffer), open(), lost(). */
  constructor(on) {
    this.on = on;
    this.wait = 500;
    this.connect();
  }

  connect() {
    this.socket = new WebSocket(`ws://${location.host}/socket`);
    this.socket.binaryType = 'arraybuffer';
    this.socket.onopen = () => { this.wait = 500; this.on.open(); };
    this.socket.onmessage = ({ data }) => {
      if (typeof data === 'string') this.on.text(JSON.parse(data)); else this.on.frame(data);
    };
    this.socket.onclose = () => {
      this.on.lost();
      setTimeout(() => this.connect(), this.wait);
      this.wait = Math.min(5000, 1.6 * this.wait);
    };
  }

  send(message) {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }
}
