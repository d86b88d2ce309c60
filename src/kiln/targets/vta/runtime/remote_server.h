// A server of devices for clients on other computers (`kiln vta serve`). It listens, and gives each
// client its own machine.
//
// Every connection costs the server resources before its token proves that it is a client. The
// server bounds that cost: connections without a complete hello ("strangers") have a small separate
// budget, in which newer ones displace older ones. Clients with machines are never displaced.
#ifndef KILN_TARGETS_VTA_RUNTIME_REMOTE_SERVER_H_
#define KILN_TARGETS_VTA_RUNTIME_REMOTE_SERVER_H_

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>

#include "kiln/net/tcp.h"
#include "kiln/targets/vta/runtime/remote_protocol.h"

namespace kiln::vta {

// The greatest numbers of strangers: in total, and from one address (TcpChannel::peer).
inline constexpr size_t kMostStrangers = 64, kMostStrangersOfAddress = 32;

// Returns the stranger that a new one from `newcomer` displaces, as an index into `waiting` (the
// strangers' addresses, oldest first), or nullopt if there is room. If the newcomer's address has
// reached its limit, that is the oldest stranger of this address. Otherwise, if the total limit is
// reached, it is the oldest stranger of the address with the most strangers (of several such
// addresses, of the one with the oldest stranger).
std::optional<size_t> StrangerToDrop(std::span<const std::string> waiting,
                                     const std::string& newcomer);

// The settings of a server.
struct ServerSettings {
  ServiceSettings service;
  std::string address = "127.0.0.1";
  uint16_t port = 0;  // 0: any free port
  int machines = 4;   // at the same time; further clients are turned away
  ServiceTimes times = {};
};

// A running server.
class RemoteServer {
 public:
  // Starts a server, which serves in its own threads until it is destroyed. Errors: an invalid
  // token; a device that cannot be made or is itself remote; an address that cannot be bound.
  static StatusOr<std::unique_ptr<RemoteServer>> Start(ServerSettings settings);
  // Closes all connections, and waits until running programs have ended or reached their limit.
  ~RemoteServer();
  RemoteServer(const RemoteServer&) = delete;
  RemoteServer& operator=(const RemoteServer&) = delete;

  Endpoint local() const { return listener_->local(); }
  bool is_loopback() const { return listener_->is_loopback(); }
  int machines() const;  // machines in use
  void Wait();           // returns when the listener fails or is interrupted

 private:
  enum class Stage : uint8_t {
    kHello,    // a stranger
    kClient,   // a client with a machine
    kClosing,  // displaced, or the conversation has ended; the thread ends within a second
    kEnded,    // the channel is closed, and the thread accesses nothing any more
  };
  struct Connection {
    std::unique_ptr<TcpChannel> channel;
    Stage stage = Stage::kHello;  // guarded by mutex_
    std::jthread thread;
  };

  RemoteServer(ServerSettings settings, std::unique_ptr<TcpListener> listener);
  void AcceptAll();
  void Begin(std::unique_ptr<TcpChannel> channel);
  void MakeRoom(const std::string& newcomer, std::unique_lock<std::mutex>& lock);
  // These make room when memory is exhausted, so they do not allocate.
  void DropOldestStranger() noexcept;
  static void Drop(Connection& connection) noexcept;
  Status Admit(Connection& connection);
  void Serve(Connection& connection);

  const ServerSettings settings_;
  const std::unique_ptr<TcpListener> listener_;
  mutable std::mutex mutex_;
  std::condition_variable ended_;  // notified when a connection's stage becomes kEnded
  int machines_ = 0;               // guarded by mutex_: connections of stage kClient
  // Guarded by mutex_. Oldest first; only the accepting thread adds and removes connections.
  std::list<Connection> connections_;
  std::thread accepting_;
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_RUNTIME_REMOTE_SERVER_H_
