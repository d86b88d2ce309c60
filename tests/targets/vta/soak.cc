#include "tests/targets/vta/soak.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "kiln/targets/vta/runtime/remote_device.h"
#include "kiln/targets/vta/runtime/remote_protocol.h"

namespace kiln::vta {

using Bytes = std::vector<uint8_t>;

StatusOr<Bytes> AddImmediate(Runtime& runtime, const Bytes& from, int32_t immediate) {
  KILN_ASSIGN_OR_RETURN(Buffer * in, runtime.AllocateBuffer(from.size()));
  KILN_ASSIGN_OR_RETURN(Buffer * out, runtime.AllocateBuffer(1024));
  KILN_RETURN_IF_ERROR(runtime.CopyIn(from, *in, 0));
  KILN_RETURN_IF_ERROR(runtime.Load(
      *in, {.memory = Memory::kAccumulator8, .x_size = 64, .y_size = 1, .x_stride = 64}));
  KernelSlot slot;
  KILN_RETURN_IF_ERROR(runtime.PushKernel(Kernel::Mode::kAlu, slot, {}, [&]() -> Status {
    KILN_RETURN_IF_ERROR(runtime.BeginLoop(64, 1, 1, 0));
    KILN_RETURN_IF_ERROR(runtime.AddUop({.mode = Kernel::Mode::kAlu,
                                         .uop = {},
                                         .alu = 2,
                                         .use_immediate = true,
                                         .immediate = immediate}));
    return runtime.EndLoop();
  }));
  KILN_RETURN_IF_ERROR(runtime.DependencyPush(2, 3));
  KILN_RETURN_IF_ERROR(runtime.DependencyPop(2, 3));
  KILN_RETURN_IF_ERROR(
      runtime.Store({.memory = Memory::kOutput, .x_size = 64, .y_size = 1, .x_stride = 64}, *out));
  KILN_RETURN_IF_ERROR(runtime.Synchronise(0));
  Bytes bytes(1024);
  KILN_RETURN_IF_ERROR(runtime.CopyOut(*out, 0, bytes));
  KILN_RETURN_IF_ERROR(runtime.FreeBuffer(in));
  KILN_RETURN_IF_ERROR(runtime.FreeBuffer(out));
  return bytes;
}

namespace {

constexpr size_t kMostOpen = 200;  // connections that one attacker keeps
constexpr int kConnectSeconds = 2;

// A new connection, or -1. Closing it sends a reset, so that a soak does not use up the ports of
// this machine.
int ConnectTo(uint16_t port) {
  const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (made < 0) return -1;
  const linger reset = {.l_onoff = 1, .l_linger = 0};
  const timeval patience = {.tv_sec = kConnectSeconds, .tv_usec = 0};
  setsockopt(made, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  setsockopt(made, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);  // of connect, too
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return made;
  close(made);
  return -1;
}

}  // namespace

HostileClients::HostileClients(uint16_t port, Bytes hello, uint64_t seed)
    : port_(port), hello_(std::move(hello)), wrong_hello_(hello_), random_(seed) {
  // The token follows the header, the magic number, the version and its own length.
  constexpr size_t kTokenLength = FrameHeader::kBytes + 8;
  const size_t length = hello_[kTokenLength];
  wrong_hello_[kTokenLength + 4 + length - 1] ^= 1;
}

HostileClients::~HostileClients() {
  for (const Open& open : open_) Close(open);
}

void HostileClients::Send(int socket, const Bytes& bytes) {
  (void)::send(socket, bytes.data(), bytes.size(),
               MSG_NOSIGNAL | MSG_DONTWAIT);  // the server may have closed
}

void HostileClients::Close(const Open& open) { close(open.socket); }

void HostileClients::TrickleHellos() {
  for (Open& open : open_) {
    if (!open.slow || open.sent == wrong_hello_.size()) continue;
    Send(open.socket, {wrong_hello_[open.sent]});
    ++open.sent;
  }
}

void HostileClients::Next(std::optional<Kind> wanted) {
  const Kind kind = wanted.has_value() ? *wanted : static_cast<Kind>(random_.Below(kKinds));
  const int socket = ConnectTo(port_);
  if (socket < 0) {
    ++refused_;
    return;
  }
  ++made_[static_cast<size_t>(kind)];
  const auto announce = [](uint32_t payload, uint32_t kind_of_request) {
    Bytes header = FrameWriter(kind_of_request).Take();
    for (size_t i = 0; i < 4; ++i) header[i] = static_cast<uint8_t>(payload >> (8 * i));
    return header;
  };
  Bytes bytes;
  switch (kind) {
    case Kind::kFlood:
    case Kind::kHalfOpen:
    case Kind::kSlow:
      break;
    case Kind::kHalfHello:
      bytes.assign(hello_.begin(), hello_.begin() + random_.Between(1, std::ssize(hello_) - 1));
      break;
    case Kind::kGarbage:
      bytes.resize(random_.Below(400) + 1);
      for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random_());
      break;
    case Kind::kOversize:
      bytes = random_.Below(2) == 0 ? announce(kMaxHello + 1, 1) : announce(UINT32_MAX, 4);
      break;
    case Kind::kWrongToken:
      bytes = wrong_hello_;
      break;
    case Kind::kHalfClosed:
      bytes.assign(hello_.begin(), hello_.begin() + 4);
      break;
  }
  Send(socket, bytes);
  if (kind == Kind::kHalfClosed) shutdown(socket, SHUT_WR);
  const Open open{.socket = socket, .slow = kind == Kind::kSlow};
  if (kind == Kind::kFlood) {
    Close(open);
  } else {
    open_.push_back(open);
  }
  if (open_.size() > kMostOpen) {
    Close(open_.front());
    open_.pop_front();
  }
  TrickleHellos();
}

namespace {

// Programs of one session after the other, with results that are checked.
class HonestClient {
 public:
  HonestClient(uint16_t port, const std::string& token, const Config& config)
      : place_({.host = "127.0.0.1", .port = port}), token_(token), config_(config) {}

  Status Connect() {
    KILN_ASSIGN_OR_RETURN(std::unique_ptr<Device> device,
                          MakeRemoteDevice(place_, token_, config_));
    KILN_ASSIGN_OR_RETURN(runtime_, Runtime::Create(std::move(device)));
    return OkStatus();
  }
  // Whether the sums are right.
  StatusOr<bool> RunProgram() {
    const auto from = static_cast<uint8_t>(number_ % 50);
    const auto immediate = static_cast<int32_t>(number_ % 71);
    ++number_;
    KILN_ASSIGN_OR_RETURN(const Bytes sums, AddImmediate(*runtime_, Bytes(1024, from), immediate));
    return sums == Bytes(1024, static_cast<uint8_t>(from + immediate));
  }

 private:
  const Endpoint place_;
  const std::string token_;
  const Config config_;
  std::unique_ptr<Runtime> runtime_;
  int64_t number_ = 0;
};

}  // namespace

SoakResults Soak(uint16_t port, const std::string& token, const Config& config,
                 const SoakPlan& plan) {
  using Clock = std::chrono::steady_clock;
  SoakResults results;
  HonestResults& honest = results.honest;
  HonestClient lasting(port, token, config);
  if (const Status connected = lasting.Connect(); !connected.ok()) {
    honest.lost = MessageOf(connected);
    return results;
  }
  const auto start = Clock::now(), end = start + plan.most;
  std::atomic<bool> over = false;
  // A stranger that is displaced before its hello is read has to try again; an honest one gives up
  // only long after.
  const auto open_another = [&](bool in_peace) {
    constexpr int kMostAttempts = 1000;
    for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
      if ((over && !in_peace) || Clock::now() >= end + plan.most) return;
      ++honest.attempts;
      HonestClient other(port, token, config);
      if (!other.Connect().ok()) continue;
      const auto right = other.RunProgram();
      ++honest.sessions;
      if (!right.ok() || !*right) ++honest.wrong_others;
      return;
    }
  };
  std::jthread client([&] {
    while (!over && honest.lost.empty()) {
      const auto right = lasting.RunProgram();
      ++honest.programs;
      if (!right.ok()) honest.lost = MessageOf(right.status());
      if (right.ok() && !*right) ++honest.wrong;
      if (honest.programs % plan.programs_per_session == 0) open_another(false);
    }
    open_another(true);
  });
  FrameWriter hello(static_cast<uint32_t>(RequestKind::kHello));
  hello.Number32(kRemoteMagic);
  hello.Number32(kRemoteVersion);
  hello.Text(token);
  hello.Text(SizesOf(config));
  HostileClients hostile(port, hello.Take(), plan.seed);
  for (int64_t i = 0; i < plan.connections && Clock::now() < end; ++i) hostile.Next(plan.only);
  over = true;
  client.join();
  results.hostile = hostile.made();
  results.refused = hostile.refused();
  results.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return results;
}

}  // namespace kiln::vta
