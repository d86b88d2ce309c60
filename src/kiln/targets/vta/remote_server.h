// Devices for clients elsewhere: listens, and gives each client a machine of its own.
#ifndef KILN_TARGETS_VTA_REMOTE_SERVER_H_
#define KILN_TARGETS_VTA_REMOTE_SERVER_H_

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "kiln/targets/vta/remote_protocol.h"
#include "kiln/targets/vta/remote_transport.h"

namespace kiln::vta {

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
  int machines() const { return machines_; }  // that clients have now
  void Wait();                                // for ever, or until the listener fails

 private:
  struct Connection {
    std::unique_ptr<TcpChannel> channel;
    std::atomic<bool> ended = false;
    std::thread thread;
  };

  RemoteServer(ServerSettings settings, std::unique_ptr<TcpListener> listener);
  void AcceptAll();
  void Serve(Connection& connection);
  void Begin(std::unique_ptr<TcpChannel> channel);

  const ServerSettings settings_;
  const std::unique_ptr<TcpListener> listener_;
  std::atomic<int> machines_ = 0;
  std::mutex mutex_;
  std::list<Connection> connections_;  // under mutex_
  std::thread accepting_;
};

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_REMOTE_SERVER_H_
