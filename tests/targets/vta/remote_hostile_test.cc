// What people without the token can do to a server of VTA devices: nothing that its clients notice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <numeric>
#include <thread>

#include "kiln/targets/vta/runtime/remote_server.h"
#include "tests/targets/vta/default_config.h"
#include "tests/targets/vta/local_server.h"
#include "tests/targets/vta/soak.h"

namespace kiln::vta {
namespace {

using Milliseconds = ByteChannel::Duration;
using Bytes = std::vector<uint8_t>;

StatusOr<Bytes> RunOneProgram(const RemoteServer& server) {
  KILN_ASSIGN_OR_RETURN(std::unique_ptr<Device> device,
                        MakeRemoteDevice(server.local(), kTestToken, kConfig));
  KILN_ASSIGN_OR_RETURN(const std::unique_ptr<Runtime> runtime, Runtime::Create(std::move(device)));
  return AddImmediate(*runtime, Bytes(1024, 5), 7);
}

TEST(VtaRemoteStrangers, HaveABudgetAndAShareOfIt) {
  std::vector<std::string> waiting;
  const auto add = [&](const std::string& address, size_t count) {
    waiting.insert(waiting.end(), count, address);
  };
  EXPECT_EQ(StrangerToDrop(waiting, "10.0.0.1"), std::nullopt);
  add("10.0.0.2", 1);
  add("10.0.0.1", kMostStrangersOfAddress - 1);
  EXPECT_EQ(StrangerToDrop(waiting, "10.0.0.1"), std::nullopt);
  add("10.0.0.1", 1);
  // An address that has its share displaces its own oldest, and nobody else.
  EXPECT_EQ(StrangerToDrop(waiting, "10.0.0.1"), 1u);
  EXPECT_EQ(StrangerToDrop(waiting, "10.0.0.2"), std::nullopt);
  // With no place left, the address with the most gives one.
  while (waiting.size() < kMostStrangers - 1) add("10.0.1." + std::to_string(waiting.size()), 1);
  EXPECT_EQ(StrangerToDrop(waiting, "10.0.0.3"), std::nullopt);
  add("10.0.0.4", 1);
  EXPECT_EQ(StrangerToDrop(waiting, "10.0.0.3"), 1u);
  EXPECT_EQ(StrangerToDrop(waiting, "10.0.0.4"), 1u);
  // All alike: the oldest.
  waiting.clear();
  while (waiting.size() < kMostStrangers) add("10.0.1." + std::to_string(waiting.size()), 1);
  EXPECT_EQ(StrangerToDrop(waiting, "10.0.0.3"), 0u);
  waiting.clear();
  add("10.0.0.1", kMostStrangers / 2);
  add("10.0.0.2", kMostStrangers / 2);
  EXPECT_EQ(StrangerToDrop(waiting, "10.0.0.3"), 0u);
}

// A channel whose client takes its time for the header of a hello and sends no payload; notes the
// limits it is given.
class LateChannel final : public ByteChannel {
 public:
  static constexpr Milliseconds kDelay{40};
  Status Receive(std::span<uint8_t> bytes, Duration most) override {
    limits.push_back(most);
    if (limits.size() > 1) return absl::UnavailableError("enough");
    std::this_thread::sleep_for(kDelay);
    FrameWriter hello(static_cast<uint32_t>(RequestKind::kHello));
    hello.Bytes(Bytes(64));
    std::copy_n(hello.Take().begin(), bytes.size(), bytes.begin());
    return OkStatus();
  }
  Status Send(std::span<const uint8_t> /*bytes*/, Duration most) override {
    limits.push_back(most);
    return OkStatus();
  }
  std::vector<Duration> limits;
};

// The parts of a hello share one limit: a header that comes late leaves less time for the payload.
TEST(VtaRemoteStrangers, TheHelloHasOneDeadline) {
  const ServiceSettings settings{.token = kTestToken, .config = kConfig};
  RemoteSession session(settings, [] { return OkStatus(); });
  LateChannel channel;
  constexpr Milliseconds kHello{10'000};
  ServeRequests(channel, session, {.hello = kHello});
  ASSERT_EQ(channel.limits.size(), 2u);
  EXPECT_LE(channel.limits[0], kHello);
  EXPECT_LE(channel.limits[1], kHello - LateChannel::kDelay);
}

// More strangers than there are places, all silent: a client still gets its machine, and one that
// has it keeps it.
TEST(VtaRemoteStrangers, SilentOnesDoNotHoldPlaces) {
  const auto server = StartLocalServer({.config = kConfig}, {.hello = kLong}, /*machines=*/2);
  ASSERT_NE(server, nullptr);
  auto device = MakeRemoteDevice(server->local(), kTestToken, kConfig);
  ASSERT_TRUE(device.ok()) << device.status();
  auto early = Runtime::Create(*std::move(device));
  ASSERT_TRUE(early.ok()) << early.status();
  std::vector<std::unique_ptr<TcpChannel>> silent;
  for (size_t i = 0; i < kMostStrangers + 20; ++i) {
    auto channel = TcpChannel::Connect(server->local(), kLong);
    ASSERT_TRUE(channel.ok()) << channel.status();
    silent.push_back(*std::move(channel));
  }
  const auto bytes = RunOneProgram(*server);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_EQ(*bytes, Bytes(1024, 12));
  const auto sums = AddImmediate(**early, Bytes(1024, 1), 2);
  ASSERT_TRUE(sums.ok()) << sums.status();
  EXPECT_EQ(*sums, Bytes(1024, 3));
  // The first of them has been displaced: it reads the connection's end long before the hello's
  // limit.
  Bytes nothing(1);
  EXPECT_EQ(silent[0]->Receive(nothing, kLong / 2).code(), absl::StatusCode::kUnavailable);
}

// Without file descriptors the server waits, and serves on when there are some again.
TEST(VtaRemoteStrangers, RunningOutOfFileDescriptorsEndsNothing) {
  const auto server = StartLocalServer({.config = kConfig});
  ASSERT_NE(server, nullptr);
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  {
    FrameWriter hello(static_cast<uint32_t>(RequestKind::kHello));
    hello.Number64(0);
    hello.Text(kTestToken);
    rlimit few = before;
    few.rlim_cur = 60;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    HostileClients hostile(server->local().port, hello.Take(), 1);
    for (int i = 0; i < 300; ++i) hostile.Next();
    std::this_thread::sleep_for(
        std::chrono::milliseconds(150));  // one further attempt of the server's
    EXPECT_GT(hostile.refused(), 0);
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  }
  const auto bytes = RunOneProgram(*server);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_EQ(*bytes, Bytes(1024, 12));
}

// The long soak is bench/vta_serve_soak.cc.
class VtaRemoteSoak : public testing::Test {
 protected:
  // Soaks a server, expects that it keeps nothing of it and serves the next client, and returns
  // what was seen.
  static SoakResults ResultsOf(const SoakPlan& plan) {
    // The accepting thread prepares the next connection's socket (event queue, timer, wake-up), at
    // the earliest some time after the server has started. One connection that is left has as many
    // files and its socket: soaks leave dozens.
    constexpr size_t kFilesOfNextConnection = 4;
    const auto server = StartLocalServer({.config = kConfig});
    if (server == nullptr) return {};
    const size_t files = OpenFiles();
    SoakResults results = Soak(server->local().port, kTestToken, kConfig, plan);
    EXPECT_EQ(results.honest.lost, "");
    EXPECT_EQ(results.honest.wrong, 0);
    EXPECT_GT(results.honest.programs, 0);
    EXPECT_EQ(results.honest.wrong_others, 0);
    EXPECT_GT(results.honest.sessions, 0);
    EXPECT_EQ(results.refused, 0);
    // Nothing is left of any of them, without a further connection.
    const auto left = [&] {
      return server->machines() > 0 || OpenFiles() > files + kFilesOfNextConnection;
    };
    for (int i = 0; i < 20'000 && left(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_LE(OpenFiles(), files + kFilesOfNextConnection);
    EXPECT_EQ(server->machines(), 0);
    const auto bytes = RunOneProgram(*server);
    EXPECT_TRUE(bytes.ok()) << bytes.status();
    EXPECT_TRUE(bytes.ok() && *bytes == Bytes(1024, 12));
    return results;
  }
};

TEST_F(VtaRemoteSoak, OfAllKinds) {
  constexpr int64_t kConnections = 4000;
  const SoakResults results = ResultsOf({.connections = kConnections, .seed = 7});
  int64_t hostile = 0;
  for (size_t kind = 0; kind < HostileClients::kKinds; ++kind) {
    EXPECT_GT(results.hostile[kind], 0) << HostileClients::kNames[kind];
    hostile += results.hostile[kind];
  }
  EXPECT_EQ(hostile, kConnections);
}

// As many as there is time for.
TEST_F(VtaRemoteSoak, OfConnectionsThatAreResetAtOnce) {
  constexpr auto kFlood = HostileClients::Kind::kFlood;
  constexpr int64_t kMost = 60'000;
  const SoakResults results =
      ResultsOf({.connections = kMost, .only = kFlood, .most = std::chrono::seconds(10)});
  const int64_t made = results.hostile[static_cast<size_t>(kFlood)];
  EXPECT_GT(made, 0);
  EXPECT_EQ(std::accumulate(results.hostile.begin(), results.hostile.end(), int64_t{0}), made);
}

// More connections than any machine makes in a year.
TEST_F(VtaRemoteSoak, EndsWithItsTime) {
  constexpr int64_t kConnections = int64_t{1} << 50;
  const SoakResults results =
      ResultsOf({.connections = kConnections, .most = std::chrono::milliseconds(300)});
  EXPECT_LT(std::accumulate(results.hostile.begin(), results.hostile.end(), int64_t{0}),
            kConnections);
}

}  // namespace
}  // namespace kiln::vta
