#include "kiln/targets/vta/remote_server.h"

#include <exception>
#include <system_error>
#include <utility>

#include "fmt/format.h"

namespace kiln::vta {
namespace {

// Connections beyond those with machines: clients that have not said hello yet, or are being turned away.
constexpr size_t kStrangers = 16;
constexpr ByteChannel::Duration kGoodbye{1000};

}  // namespace

StatusOr<std::unique_ptr<RemoteServer>> RemoteServer::Start(ServerSettings settings) {
  const ServiceSettings& service = settings.service;
  KILN_RETURN_IF_ERROR(CheckToken(service.token));
  if (service.device.starts_with(kRemotePrefix)) {
    return absl::InvalidArgumentError(fmt::format("'{}' is elsewhere; a server has its device itself", service.device));
  }
  KILN_RETURN_IF_ERROR(MakeDevice(service.device, service.config, service.limits).status());
  KILN_ASSIGN_OR_RETURN(auto listener, TcpListener::Bind(settings.address, settings.port));
  return std::unique_ptr<RemoteServer>(new RemoteServer(std::move(settings), std::move(listener)));
}

RemoteServer::RemoteServer(ServerSettings settings, std::unique_ptr<TcpListener> listener)
    : settings_(std::move(settings)), listener_(std::move(listener)), accepting_([this] { AcceptAll(); }) {}

RemoteServer::~RemoteServer() {
  listener_->Interrupt();
  Wait();
  const std::scoped_lock lock(mutex_);
  for (Connection& one : connections_) one.channel->Interrupt();
  for (Connection& one : connections_) one.thread.join();
}

void RemoteServer::Wait() {
  if (accepting_.joinable()) accepting_.join();
}

void RemoteServer::AcceptAll() {
  while (auto channel = listener_->Accept()) {
    try {
      Begin(std::move(channel));
    } catch (const std::exception&) {
      // No thread or memory for it now: the connection is closed, and the next one may fare better.
    }
  }
}

void RemoteServer::Begin(std::unique_ptr<TcpChannel> channel) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(connections_, [](Connection& one) {
    if (one.ended) one.thread.join();
    return one.ended.load();
  });
  if (connections_.size() >= static_cast<size_t>(settings_.machines) + kStrangers) {
    const Status busy = absl::ResourceExhaustedError("the server has too many connections; try again later");
    (void)channel->Send(RemoteSession::ErrorReply(busy), kGoodbye);
    return;
  }
  Connection& one = connections_.emplace_back();
  one.channel = std::move(channel);
  try {
    one.thread = std::thread([this, &one] { Serve(one); });
  } catch (const std::system_error&) {
    connections_.pop_back();
    throw;
  }
}

void RemoteServer::Serve(Connection& connection) {
  bool admitted = false;
  try {
    RemoteSession session(settings_.service, [&]() -> Status {
      if (machines_.fetch_add(1) >= settings_.machines) {
        --machines_;
        return absl::ResourceExhaustedError(
            fmt::format("all of the server's {} machines are in use; try again later", settings_.machines));
      }
      admitted = true;
      return OkStatus();
    });
    ServeRequests(*connection.channel, session, settings_.times);
  } catch (const std::exception&) {
    // Out of memory for this client; the machine and the connection go, the others stay.
  }
  if (admitted) --machines_;
  connection.channel->CloseGently(kGoodbye);
  connection.ended = true;
}

}  // namespace kiln::vta
