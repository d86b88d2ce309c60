// TCP connections and listeners with a time limit on every step, on Asio.
#ifndef KILN_NET_TCP_H_
#define KILN_NET_TCP_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "kiln/net/byte_channel.h"
#include "kiln/support/status.h"

namespace kiln {

struct Endpoint {
  std::string host;  // name or address
  uint16_t port = 0;

  // "HOST:PORT", "[IPV6]:PORT".
  static StatusOr<Endpoint> Parse(std::string_view text);
  std::string ToString() const;
};

class TcpChannel final : public ByteChannel {
 public:
  // Errors: no such host; nobody listens there; not within `most`.
  static StatusOr<std::unique_ptr<TcpChannel>> Connect(const Endpoint& to, Duration most);

  ~TcpChannel() override;
  TcpChannel(const TcpChannel&) = delete;
  TcpChannel& operator=(const TcpChannel&) = delete;

  Status Receive(std::span<uint8_t> bytes, Duration most) override;
  Status Send(std::span<const uint8_t> bytes, Duration most) override;
  // Ends this side's stream, waits at most `most` until the other side closes, too, and closes the
  // connection. Closing it at once, with received bytes unread, could reset it and lose the last
  // bytes that were sent.
  void CloseGently(Duration most);
  // May be called from any thread. A running or later Receive or Send ends with Unavailable, and
  // the wait of CloseGently ends. Allocates no memory.
  void Interrupt() noexcept;
  // The client's network address, for limits per client: an IPv4 address, or the first 64 bits of
  // an IPv6 address, because one host usually owns all addresses behind them. Empty for a channel
  // that Connect made.
  const std::string& peer() const { return peer_; }

 private:
  friend class TcpListener;
  struct Socket;
  explicit TcpChannel(std::unique_ptr<Socket> socket, std::string peer = "");
  const std::unique_ptr<Socket> socket_;
  const std::string peer_;
};

class TcpListener {
 public:
  // `address`: of an interface of this machine, as digits. Port 0: any. Errors: no address; in use;
  // not allowed.
  static StatusOr<std::unique_ptr<TcpListener>> Bind(const std::string& address, uint16_t port);

  ~TcpListener();
  TcpListener(const TcpListener&) = delete;
  TcpListener& operator=(const TcpListener&) = delete;

  Endpoint local() const;
  bool is_loopback() const;
  // Returns the next connection, or null once interrupted. Where the system lacks file descriptors
  // or memory for a connection, calls `shortage`, which may free some and must not throw, and tries
  // again after a tenth of a second. Does not throw.
  std::unique_ptr<TcpChannel> Accept(const std::function<void()>& shortage = {});
  // From any thread: ends Accept for good. Needs no memory.
  void Interrupt() noexcept;

 private:
  struct Acceptor;
  explicit TcpListener(std::unique_ptr<Acceptor> acceptor);
  // One attempt at Accept: null where the system lacks something for it, or after an interruption.
  std::unique_ptr<TcpChannel> TryAccept();
  const std::unique_ptr<Acceptor> acceptor_;
};

}  // namespace kiln

#endif  // KILN_NET_TCP_H_
