// Accepts connections, serves each in a thread, and bounds the number of connections that have not
// proved to be clients.

#include "kiln/targets/vta/runtime/remote_server.h"

#include <algorithm>
#include <exception>
#include <map>
#include <utility>
#include <vector>

#include "fmt/format.h"

namespace kiln::vta {
namespace {

// The greatest number of closing connections, whose threads still run. Each ends within kGoodbye
// milliseconds, or at once when it is dropped.
constexpr int64_t kMostClosing = 32;
constexpr ByteChannel::Duration kGoodbye{1000};

}  // namespace

std::optional<size_t> StrangerToDrop(std::span<const std::string> waiting,
                                     const std::string& newcomer) {
  std::map<std::string_view, size_t> count;
  for (const std::string& address : waiting) ++count[address];
  std::optional<std::string_view> from;
  if (count[newcomer] >= kMostStrangersOfAddress) {
    from = newcomer;
  } else if (waiting.size() >= kMostStrangers) {
    size_t most = 0;
    for (const std::string& address : waiting) {  // the oldest first
      if (count[address] <= most) continue;
      most = count[address];
      from = address;
    }
  }
  if (!from.has_value()) return std::nullopt;
  return static_cast<size_t>(std::ranges::find(waiting, *from) - waiting.begin());
}

StatusOr<std::unique_ptr<RemoteServer>> RemoteServer::Start(ServerSettings settings) {
  const ServiceSettings& service = settings.service;
  KILN_RETURN_IF_ERROR(CheckToken(service.token));
  if (service.device.starts_with(kRemotePrefix)) {
    return absl::InvalidArgumentError(
        fmt::format("'{}' is elsewhere; a server has its device itself", service.device));
  }
  KILN_RETURN_IF_ERROR(MakeDevice(service.device, service.config, service.limits).status());
  KILN_ASSIGN_OR_RETURN(auto listener, TcpListener::Bind(settings.address, settings.port));
  return std::unique_ptr<RemoteServer>(new RemoteServer(std::move(settings), std::move(listener)));
}

RemoteServer::RemoteServer(ServerSettings settings, std::unique_ptr<TcpListener> listener)
    : settings_(std::move(settings)),
      listener_(std::move(listener)),
      accepting_([this] { AcceptAll(); }) {}

RemoteServer::~RemoteServer() {
  listener_->Interrupt();
  Wait();
  {
    const std::scoped_lock lock(mutex_);
    for (Connection& one : connections_) {
      if (one.stage != Stage::kEnded) one.channel->Interrupt();
    }
  }
  connections_.clear();  // joins the threads, which lock mutex_ until they end; no other thread is
                         // left that changes the list
}

int RemoteServer::machines() const {
  const std::scoped_lock lock(mutex_);
  return machines_;
}

void RemoteServer::Wait() {
  if (accepting_.joinable()) accepting_.join();
}

void RemoteServer::AcceptAll() {
  while (auto channel = listener_->Accept([this] { DropOldestStranger(); })) {
    try {
      Begin(std::move(channel));
    } catch (const std::exception&) {
      DropOldestStranger();  // the new connection got no thread or memory and is closed: make room
                             // for the next one
    }
  }
}

void RemoteServer::Drop(Connection& connection) noexcept {
  connection.stage = Stage::kClosing;
  connection.channel->Interrupt();
}

void RemoteServer::DropOldestStranger() noexcept {
  const std::scoped_lock lock(mutex_);
  const auto oldest = std::ranges::find_if(
      connections_, [](const Connection& one) { return one.stage == Stage::kHello; });
  if (oldest != connections_.end()) Drop(*oldest);
}

void RemoteServer::MakeRoom(const std::string& newcomer, std::unique_lock<std::mutex>& lock) {
  std::vector<std::string> waiting;
  std::vector<Connection*> strangers;
  for (Connection& one : connections_) {
    if (one.stage != Stage::kHello) continue;
    waiting.push_back(one.channel->peer());
    strangers.push_back(&one);
  }
  if (const auto drop = StrangerToDrop(waiting, newcomer)) Drop(*strangers[*drop]);
  // An interrupted thread ends as soon as it is scheduled, so this wait does not depend on any
  // client.
  const auto closing = [this] {
    return std::ranges::count_if(
        connections_, [](const Connection& one) { return one.stage == Stage::kClosing; });
  };
  if (closing() < kMostClosing) return;
  for (Connection& one : connections_) {
    if (one.stage == Stage::kClosing) one.channel->Interrupt();
  }
  ended_.wait(lock, [&] { return closing() < kMostClosing; });
}

void RemoteServer::Begin(std::unique_ptr<TcpChannel> channel) {
  std::list<Connection> over;  // threads of these connections are joined after unlocking
  std::unique_lock lock(mutex_);
  MakeRoom(channel->peer(), lock);
  for (auto one = connections_.begin(); one != connections_.end();) {
    const auto next = std::next(one);
    if (one->stage == Stage::kEnded) over.splice(over.end(), connections_, one);
    one = next;
  }
  Connection& connection = connections_.emplace_back();
  connection.channel = std::move(channel);
  try {
    connection.thread = std::jthread([this, &connection] { Serve(connection); });
  } catch (...) {  // the thread could not be started
    connections_.pop_back();
    throw;
  }
}

// Turns a stranger with a valid hello into a client, unless it has just been displaced.
Status RemoteServer::Admit(Connection& connection) {
  const std::scoped_lock lock(mutex_);
  if (connection.stage != Stage::kHello) return absl::UnavailableError("the connection was closed");
  if (machines_ >= settings_.machines) {
    return absl::ResourceExhaustedError(fmt::format(
        "all of the server's {} machines are in use; try again later", settings_.machines));
  }
  connection.stage = Stage::kClient;
  ++machines_;
  return OkStatus();
}

void RemoteServer::Serve(Connection& connection) {
  try {
    RemoteSession session(settings_.service, [&] { return Admit(connection); });
    ServeRequests(*connection.channel, session, settings_.times);
  } catch (const std::exception&) {
    // There is no memory for this client. Its machine and connection are closed; others continue.
  }
  {
    const std::scoped_lock lock(mutex_);
    if (connection.stage == Stage::kClient) --machines_;
    connection.stage = Stage::kClosing;
  }
  try {
    connection.channel->CloseGently(kGoodbye);
  } catch (const std::exception&) {
    // The channel closes with the connection.
  }
  // Close the open files now. The thread is joined when the next connection is accepted.
  const std::scoped_lock lock(mutex_);
  connection.channel.reset();
  connection.stage = Stage::kEnded;
  ended_.notify_all();
}

}  // namespace kiln::vta
