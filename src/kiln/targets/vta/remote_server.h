// Devices for clients elsewhere: listens, and gives each client a machine of its own.
//
// Anybody who can connect costs the server something before the token proves that it is a client. The server bounds
// that cost: connections whose hello is not complete ("strangers") have a small budget of their own, in which a newer
// one displaces an older one. Clients with machines are never displaced.
#ifndef KILN_TARGETS_VTA_REMOTE_SERVER_H_
#define KILN_TARGETS_VTA_REMOTE_SERVER_H_

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>

#include "kiln/targets/vta/remote_protocol.h"
#include "kiln/targets/vta/remote_transport.h"

namespace kiln::vta {

// Connections that have not said hello: at once, and of one address (TcpChannel::peer).
inline constexpr size_t kMostStrangers = 64, kMostStrangersOfAddress = 32;

// Chooses the stranger that a new one from `newcomer` displaces, as an index into `waiting` (addresses of strangers,
// the oldest first): the oldest of the newcomer's address where that address has its share already; else, with no place
// left, the oldest of the address that has the most (of several such addresses, the one with the oldest stranger).
// Nullopt: there is room.
std::optional<size_t> StrangerToDrop(std::span<const std::string> waiting,
                                     const std::string& newcomer);

struct ServerSettings {
  ServiceSettings service;
  std::string address = "127.0.0.1";
  uint16_t port = 0;  // 0: any
  int machines = 4;   // at once; a further client is turned away
  ServiceTimes times = {};
};

class RemoteServer {
 public:
  // Listens, and serves in threads of its own until it is destroyed. Errors: a token that is none; a device that
  // cannot be made, or is itself elsewhere; an address that cannot be had.
  static StatusOr<std::unique_ptr<RemoteServer>> Start(ServerSettings settings);
  // Closes all connections; waits for programs that run to their end or limit.
  ~RemoteServer();
  RemoteServer(const RemoteServer&) = delete;
  RemoteServer& operator=(const RemoteServer&) = delete;

  Endpoint local() const { return listener_->local(); }
  bool is_loopback() const { return listener_->is_loopback(); }
  int machines() const;  // that clients have now
  void Wait();           // for ever, or until the listener fails

 private:
  enum class Stage : uint8_t {
    kHello,    // a stranger
    kClient,   // has a machine
    kClosing,  // displaced, or the conversation is over; the thread ends within a second
    kEnded,    // the channel is gone, and the thread touches nothing any more
  };
  struct Connection {
    std::unique_ptr<TcpChannel> channel;
    Stage stage = Stage::kHello;  // under mutex_
    std::jthread thread;
  };

  RemoteServer(ServerSettings settings, std::unique_ptr<TcpListener> listener);
  void AcceptAll();
  void Begin(std::unique_ptr<TcpChannel> channel);
  void MakeRoom(const std::string& newcomer, std::unique_lock<std::mutex>& lock);
  // When there is no memory, these make room; so they need none.
  void DropOldestStranger() noexcept;
  static void Drop(Connection& connection) noexcept;
  Status Admit(Connection& connection);
  void Serve(Connection& connection);

  const ServerSettings settings_;
  const std::unique_ptr<TcpListener> listener_;
  mutable std::mutex mutex_;
  std::condition_variable ended_;  // some connection's stage has become kEnded
  int machines_ = 0;               // under mutex_: connections of stage kClient
  std::list<Connection>
      connections_;  // under mutex_, the oldest first; the accepting thread adds and removes
  std::thread accepting_;
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_REMOTE_SERVER_H_
