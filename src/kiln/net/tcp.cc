// Asynchronous operations of Asio, each run to its end or to its time limit.
#include "kiln/net/tcp.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <asio/buffer.hpp>
#include <asio/connect.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/read.hpp>
#include <asio/write.hpp>
#include <atomic>
#include <charconv>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "fmt/format.h"

namespace kiln {
namespace {

using Tcp = asio::ip::tcp;
using Duration = ByteChannel::Duration;

constexpr Duration kAcceptAgain{100};
constexpr char kClosed[] = "the connection was closed";
// A machine at the other end that is gone without a word is noticed after a minute.
constexpr int kKeepIdleSeconds = 30, kKeepIntervalSeconds = 10, kKeepCount = 3;

using KeepIdle = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_KEEPIDLE>;
using KeepInterval = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_KEEPINTVL>;
using KeepCount = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_KEEPCNT>;

// The part of a client's address that TcpChannel::peer returns.
std::string PeerOf(const asio::ip::address& address) {
  if (address.is_v4()) return address.to_string();
  const asio::ip::address_v6 six = address.to_v6();
  if (six.is_v4_mapped()) return asio::ip::make_address_v4(asio::ip::v4_mapped, six).to_string();
  asio::ip::address_v6::bytes_type bytes = six.to_bytes();
  std::fill(bytes.begin() + 8, bytes.end(), uint8_t{0});
  return asio::ip::address_v6(bytes).to_string() + "/64";
}

// What a running operation comes to: nothing yet, or its error.
using Outcome = std::optional<asio::error_code>;

// Options are a help; a connection without them works.
void SetOptions(Tcp::socket& socket) {
  asio::error_code ignored;
  socket.set_option(Tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  socket.set_option(KeepIdle(kKeepIdleSeconds), ignored);
  socket.set_option(KeepInterval(kKeepIntervalSeconds), ignored);
  socket.set_option(KeepCount(kKeepCount), ignored);
}

}  // namespace

StatusOr<Endpoint> Endpoint::Parse(std::string_view text) {
  const size_t colon = text.rfind(':');
  const auto wrong = [&] {
    return ErrorAt("", "", fmt::format("'{}' is no place to connect to", text), "HOST:PORT");
  };
  if (colon == std::string_view::npos || colon == 0) return wrong();
  std::string_view host = text.substr(0, colon), digits = text.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return wrong();  // an IPv6 address without brackets
  }
  Endpoint endpoint{.host = std::string(host)};
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), endpoint.port);
  if (error != std::errc() || end != digits.data() + digits.size() || endpoint.port == 0 ||
      host.empty())
    return wrong();
  return endpoint;
}

std::string Endpoint::ToString() const {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port)
                                             : fmt::format("[{}]:{}", host, port);
}

struct TcpChannel::Socket {
  asio::io_context context{1};
  Tcp::socket socket{context};

  // Guards `socket` against Interrupt: its descriptor must not be closed and reused by another file
  // while Interrupt shuts it down.
  std::mutex mutex;
  bool interrupted = false;  // guarded by mutex

  bool is_interrupted() {
    const std::scoped_lock lock(mutex);
    return interrupted;
  }
  // Runs the operation that was begun, which writes `outcome`; stops it when its time is over.
  Status Finish(Outcome& outcome, Duration most) {
    const auto end = std::chrono::steady_clock::now() + most;
    context.restart();
    while (!outcome.has_value() && context.run_one_until(end) > 0) {
    }
    if (!outcome.has_value()) {
      Close();
      context.restart();
      context.run();  // the handler, which names `outcome`
      return absl::DeadlineExceededError(
          fmt::format("nothing for {} s", static_cast<double>(most.count()) / 1000));
    }
    if (!*outcome) return OkStatus();
    Close();
    if (*outcome == asio::error::eof || *outcome == asio::error::connection_reset ||
        *outcome == asio::error::broken_pipe || *outcome == asio::error::operation_aborted ||
        *outcome == asio::error::bad_descriptor) {
      return absl::UnavailableError(kClosed);
    }
    return absl::UnavailableError(outcome->message());
  }
  void Close() {
    const std::scoped_lock lock(mutex);
    asio::error_code ignored;
    socket.close(ignored);
  }
  // Needs no memory. What runs in another thread finds the connection at its end.
  void Interrupt() noexcept {
    const std::scoped_lock lock(mutex);
    interrupted = true;
    if (socket.is_open()) ::shutdown(socket.native_handle(), SHUT_RDWR);
  }
};

TcpChannel::TcpChannel(std::unique_ptr<Socket> socket, std::string peer)
    : socket_(std::move(socket)), peer_(std::move(peer)) {}
TcpChannel::~TcpChannel() = default;

StatusOr<std::unique_ptr<TcpChannel>> TcpChannel::Connect(const Endpoint& to, Duration most) {
  auto socket = std::make_unique<Socket>();
  Outcome outcome;
  Tcp::resolver resolver(socket->context);
  Tcp::resolver::results_type places;
  resolver.async_resolve(
      to.host, fmt::format("{}", to.port),
      [&](const asio::error_code& error, const Tcp::resolver::results_type& found) {
        outcome = error;
        places = found;
      });
  Status status = socket->Finish(outcome, most);
  if (status.ok()) {
    outcome.reset();
    asio::async_connect(
        socket->socket, places,
        [&](const asio::error_code& error, const Tcp::endpoint& /*place*/) { outcome = error; });
    status = socket->Finish(outcome, most);
  }
  if (!status.ok())
    return absl::UnavailableError(fmt::format("no connection: {}", MessageOf(status)));
  SetOptions(socket->socket);
  return std::unique_ptr<TcpChannel>(new TcpChannel(std::move(socket)));
}

Status TcpChannel::Receive(std::span<uint8_t> bytes, Duration most) {
  if (bytes.empty()) return OkStatus();
  if (socket_->is_interrupted())
    return absl::UnavailableError(kClosed);  // bytes may have come before
  Outcome outcome;
  asio::async_read(socket_->socket, asio::buffer(bytes.data(), bytes.size()),
                   [&](const asio::error_code& error, size_t /*bytes*/) { outcome = error; });
  return socket_->Finish(outcome, most);
}

Status TcpChannel::Send(std::span<const uint8_t> bytes, Duration most) {
  if (bytes.empty()) return OkStatus();
  if (socket_->is_interrupted()) return absl::UnavailableError(kClosed);
  Outcome outcome;
  asio::async_write(socket_->socket, asio::buffer(bytes.data(), bytes.size()),
                    [&](const asio::error_code& error, size_t /*bytes*/) { outcome = error; });
  return socket_->Finish(outcome, most);
}

void TcpChannel::CloseGently(Duration most) {
  const auto end = std::chrono::steady_clock::now() + most;
  asio::error_code error;
  socket_->socket.shutdown(Tcp::socket::shutdown_send, error);
  std::array<uint8_t, 4096> nothing;
  while (!error && !socket_->is_interrupted()) {
    const auto left = std::chrono::duration_cast<Duration>(end - std::chrono::steady_clock::now());
    if (left <= Duration::zero()) break;
    Outcome outcome;
    socket_->socket.async_read_some(
        asio::buffer(nothing),
        [&](const asio::error_code& failed, size_t /*bytes*/) { outcome = failed; });
    if (!socket_->Finish(outcome, left).ok()) break;
  }
  socket_->Close();
}

void TcpChannel::Interrupt() noexcept { socket_->Interrupt(); }

struct TcpListener::Acceptor {
  asio::io_context context{1};
  Tcp::acceptor acceptor{context};
  Tcp::endpoint local;
  std::atomic<bool> interrupted = false;
};

TcpListener::TcpListener(std::unique_ptr<Acceptor> acceptor) : acceptor_(std::move(acceptor)) {}
TcpListener::~TcpListener() = default;

StatusOr<std::unique_ptr<TcpListener>> TcpListener::Bind(const std::string& address,
                                                         uint16_t port) {
  asio::error_code error;
  const asio::ip::address place = asio::ip::make_address(address, error);
  if (error)
    return ErrorAt("", "", fmt::format("'{}' is no address", address), "such as 127.0.0.1 or ::1");
  auto acceptor = std::make_unique<Acceptor>();
  const Tcp::endpoint endpoint(place, port);
  acceptor->acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor->acceptor.set_option(Tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor->acceptor.bind(endpoint, error);
  if (!error) acceptor->acceptor.listen(Tcp::acceptor::max_listen_connections, error);
  if (!error) acceptor->local = acceptor->acceptor.local_endpoint(error);
  if (error) {
    const Endpoint wanted{.host = address, .port = port};
    return absl::UnavailableError(fmt::format("{}: {}", wanted.ToString(), error.message()));
  }
  return std::unique_ptr<TcpListener>(new TcpListener(std::move(acceptor)));
}

Endpoint TcpListener::local() const {
  return {.host = acceptor_->local.address().to_string(), .port = acceptor_->local.port()};
}

bool TcpListener::is_loopback() const { return acceptor_->local.address().is_loopback(); }

std::unique_ptr<TcpChannel> TcpListener::TryAccept() {
  auto socket = std::make_unique<TcpChannel::Socket>();
  Tcp::endpoint peer;
  Outcome outcome;
  acceptor_->acceptor.async_accept(socket->socket, peer,
                                   [&](const asio::error_code& error) { outcome = error; });
  acceptor_->context.restart();
  while (!outcome.has_value()) acceptor_->context.run_one();
  if (*outcome) return nullptr;
  SetOptions(socket->socket);
  return std::unique_ptr<TcpChannel>(new TcpChannel(std::move(socket), PeerOf(peer.address())));
}

std::unique_ptr<TcpChannel> TcpListener::Accept(const std::function<void()>& shortage) {
  while (!acceptor_->interrupted) {
    try {
      if (auto channel = TryAccept()) return channel;
    } catch (const std::exception&) {
      // A socket has an event queue of its own, for which there are no file descriptors or memory.
    }
    if (acceptor_->interrupted) break;
    if (shortage) shortage();
    std::this_thread::sleep_for(kAcceptAgain);
  }
  return nullptr;
}

void TcpListener::Interrupt() noexcept {
  acceptor_->interrupted = true;
  ::shutdown(acceptor_->acceptor.native_handle(),
             SHUT_RDWR);  // ends an accept that runs; needs no memory
}

}  // namespace kiln
