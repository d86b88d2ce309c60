// Devices behind sockets: what clients of a server see, and what a server survives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <thread>

#include "kiln/support/budgets.h"
#include "kiln/support/file.h"
#include "kiln/support/process.h"
#include "kiln/targets/vta/runtime/remote_device.h"
#include "kiln/targets/vta/runtime/remote_server.h"
#include "kiln/targets/vta/runtime/runtime.h"
#include "kiln/targets/vta/runtime/runtime_vector.h"
#include "tests/targets/vta/default_config.h"
#include "tests/targets/vta/local_server.h"
#include "tests/targets/vta/soak.h"
#include "tests/test_data.h"

namespace kiln::vta {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;
using Milliseconds = ByteChannel::Duration;

using Bytes = std::vector<uint8_t>;

class VtaRemote : public testing::Test {
 protected:
  void Serve(ServiceSettings service = {.config = kConfig}, ServiceTimes times = {},
             int machines = 4) {
    server_ = StartLocalServer(std::move(service), times, machines);
    ASSERT_NE(server_, nullptr);
  }
  StatusOr<std::unique_ptr<Device>> Connect(std::string_view token = kTestToken,
                                            const Config& config = kConfig) const {
    return MakeRemoteDevice(server_->local(), token, config);
  }
  StatusOr<std::unique_ptr<Runtime>> ConnectRuntime() const {
    KILN_ASSIGN_OR_RETURN(std::unique_ptr<Device> device, Connect());
    return Runtime::Create(std::move(device));
  }
  // A whole program through a new connection gives what it should.
  void ExpectServes() const {
    auto runtime = ConnectRuntime();
    ASSERT_TRUE(runtime.ok()) << runtime.status();
    const auto bytes = AddImmediate(**runtime, Bytes(1024, 5), 7);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    EXPECT_EQ(*bytes, Bytes(1024, 12));
  }
  // Until all connections are over.
  void ExpectMachines(int count) const {
    for (int i = 0; i < 10000 && server_->machines() != count; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(server_->machines(), count);
  }

  std::unique_ptr<TcpChannel> Raw() const {
    auto channel = TcpChannel::Connect(server_->local(), kLong);
    EXPECT_TRUE(channel.ok()) << channel.status();
    return *std::move(channel);
  }
  // "code: message" of the next reply, or how the connection ended.
  static std::string ReplyOf(TcpChannel& channel) {
    std::array<uint8_t, FrameHeader::kBytes> bytes;
    if (const Status status = channel.Receive(bytes, kLong); !status.ok()) return MessageOf(status);
    const FrameHeader header = FrameHeader::Parse(bytes);
    EXPECT_LE(header.payload, kMaxPayload);
    Bytes payload(header.payload);
    if (const Status status = channel.Receive(payload, kLong); !status.ok())
      return MessageOf(status);
    return std::to_string(header.kind) + ": " + std::string(payload.begin(), payload.end());
  }
  static Bytes HelloFrame(uint32_t magic = kRemoteMagic, uint32_t version = kRemoteVersion) {
    FrameWriter hello(1);
    hello.Number32(magic);
    hello.Number32(version);
    hello.Text(kTestToken);
    hello.Text(SizesOf(kConfig));
    return hello.Take();
  }
  static Bytes HeaderOf(uint32_t payload, uint32_t kind) {
    Bytes frame = FrameWriter(kind).Take();
    for (size_t i = 0; i < 4; ++i) frame[i] = static_cast<uint8_t>(payload >> (8 * i));
    return frame;
  }
  // What the server says to bytes of a client that has said hello if `greeted`; it closes then.
  std::string LastReplyTo(const Bytes& bytes, bool greeted) const {
    const auto channel = Raw();
    if (greeted) {
      EXPECT_TRUE(channel->Send(HelloFrame(), kLong).ok());
      EXPECT_THAT(ReplyOf(*channel), HasSubstr("functional"));
    }
    EXPECT_TRUE(channel->Send(bytes, kLong).ok());
    std::string reply = ReplyOf(*channel);
    EXPECT_EQ(ReplyOf(*channel), "the connection was closed");
    return reply;
  }

  std::unique_ptr<RemoteServer> server_;
};

TEST_F(VtaRemote, RuntimeVectorsGiveTheSame) {
  const fs::path folder = TestData("vta/runtime_api");
  ASSERT_EQ(setenv("KILN_VTA_TOKEN", kTestToken, 1), 0);
  int count = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const auto vector = ReadRuntimeVector(entry.path());
    ASSERT_TRUE(vector.ok()) << vector.status();
    Serve({.config = vector->config});
    const auto difference = Replay(*vector, "remote:" + server_->local().ToString());
    ASSERT_TRUE(difference.ok()) << difference.status();
    EXPECT_EQ(difference->value_or(""), "") << entry.path();
    ++count;
  }
  EXPECT_EQ(count, 2);
}

TEST_F(VtaRemote, MemoryOfManyMessages) {
  Serve();
  auto device = Connect();
  ASSERT_TRUE(device.ok()) << device.status();
  Bytes bytes(3 * kMaxData + 17);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 31 + i / 251);
  const auto address = (*device)->Allocate(bytes.size());
  ASSERT_TRUE(address.ok()) << address.status();
  ASSERT_TRUE((*device)->Write(*address, bytes).ok());
  Bytes back(bytes.size());
  ASSERT_TRUE((*device)->Read(*address, back).ok());
  EXPECT_EQ(back, bytes);
  EXPECT_EQ((*device)->HostPointer(*address), nullptr);
  EXPECT_EQ((*device)->last_run(), std::nullopt);
  // What the device refuses leaves the connection as it was.
  EXPECT_EQ((*device)->Read(*address + (8 << 20), back).code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ((*device)->Free(*address + 1).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE((*device)->Free(*address).ok());
  EXPECT_THAT(MessageOf((*device)->Free(*address)), HasSubstr("no buffer begins at"));
  EXPECT_THAT(MessageOf((*device)->Run(*address, 1, 0)), HasSubstr("dram_range"));
  EXPECT_TRUE((*device)->Allocate(1).ok());
}

TEST_F(VtaRemote, StrangersAreTurnedAway) {
  Serve();
  Config other = kConfig;
  other.uop_buffer_bytes = 1 << 12;
  EXPECT_THAT(MessageOf(Connect("0123456789abcdeF").status()),
              HasSubstr("the token is not the server's"));
  EXPECT_THAT(MessageOf(Connect("0123456789abcdef0").status()),
              HasSubstr("the token is not the server's"));
  EXPECT_THAT(MessageOf(Connect("short").status()), HasSubstr("a token of 5 characters"));
  EXPECT_THAT(
      MessageOf(Connect(kTestToken, other).status()),
      HasSubstr("design point is 1x16_i8w8a32_12_15_18_17, the device's 1x16_i8w8a32_15_15_18_17"));
  EXPECT_THAT(LastReplyTo(HelloFrame(kRemoteMagic, 2), false),
              HasSubstr("speaks version 2 of the protocol; 1"));
  EXPECT_THAT(LastReplyTo(HelloFrame(1, 1), false), HasSubstr("speaks of something else"));
  EXPECT_EQ(server_->machines(), 0);
  ExpectServes();
}

TEST_F(VtaRemote, WrongMessagesEndTheirConversationAlone) {
  Serve();
  auto bystander = ConnectRuntime();
  ASSERT_TRUE(bystander.ok()) << bystander.status();
  const std::string http = "GET / HTTP/1.1\r\n\r\n";
  EXPECT_THAT(LastReplyTo(Bytes(http.begin(), http.end()), false),
              HasSubstr("there is no request"));
  EXPECT_THAT(LastReplyTo(HeaderOf(8, 2), false), HasSubstr("a request before the hello"));
  EXPECT_THAT(LastReplyTo(HeaderOf(budgets::kRemoteHelloBytes + 1, 1), false),
              HasSubstr("a request 1 of 4097 bytes; 16 to 4096"));
  EXPECT_THAT(LastReplyTo(HelloFrame(), true), HasSubstr("a second hello"));
  EXPECT_THAT(LastReplyTo(HeaderOf(0, 0), true), HasSubstr("there is no request 0"));
  EXPECT_THAT(LastReplyTo(HeaderOf(0, 7), true), HasSubstr("there is no request 7"));
  EXPECT_THAT(LastReplyTo(HeaderOf(UINT32_MAX, 4), true),
              HasSubstr("a request 4 of 4294967295 bytes"));
  EXPECT_THAT(LastReplyTo(HeaderOf(budgets::kRemoteDataBytes + 9, 4), true),
              HasSubstr("a request 4 of 1048585 bytes; 8 to 1048584"));
  EXPECT_THAT(LastReplyTo(HeaderOf(7, 3), true), HasSubstr("a request 3 of 7 bytes; 8 to 8"));
  // Lengths inside a hello that are not the message's.
  Bytes hello = HelloFrame();
  hello[FrameHeader::kBytes + 8] = 0xff;
  EXPECT_THAT(LastReplyTo(hello, false), HasSubstr("not as long as it says"));
  // Half a header, half a payload.
  for (const size_t bytes : {size_t{3}, size_t{12}}) {
    const auto channel = Raw();
    const Bytes frame = HelloFrame();
    ASSERT_TRUE(channel->Send(std::span(frame).first(bytes), kLong).ok());
  }
  const auto bytes = AddImmediate(**bystander, Bytes(1024, 1), 1);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_EQ(*bytes, Bytes(1024, 2));
  bystander->reset();
  ExpectMachines(0);
  ExpectServes();
}

// A hello of the whole budget is read, and is none; MemoryOfManyMessages has messages of memory at
// their budget.
TEST_F(VtaRemote, MessagesAtTheirBudgets) {
  Serve();
  const auto hello = [](int64_t bytes) {
    Bytes frame = HeaderOf(static_cast<uint32_t>(bytes), 1);
    frame.resize(frame.size() + static_cast<size_t>(bytes));
    return frame;
  };
  EXPECT_THAT(LastReplyTo(hello(budgets::kRemoteHelloBytes), false),
              Not(HasSubstr("a request 1 of")));
  const auto channel = Raw();
  ASSERT_TRUE(channel->Send(HelloFrame(), kLong).ok());
  EXPECT_THAT(ReplyOf(*channel), HasSubstr("functional"));
  FrameWriter allocate(2);
  allocate.Number64(budgets::kRemoteDataBytes + 1);
  ASSERT_TRUE(channel->Send(allocate.Take(), kLong).ok());
  const std::string allocated = ReplyOf(*channel);
  ASSERT_EQ(allocated.size(), std::string("0: ").size() + 8) << allocated;
  const auto read = [&](int64_t bytes) {
    FrameWriter frame(5);
    frame.Bytes({reinterpret_cast<const uint8_t*>(allocated.data()) + 3, 8});  // the address
    frame.Number32(static_cast<uint32_t>(bytes));
    EXPECT_TRUE(channel->Send(frame.Take(), kLong).ok());
    return ReplyOf(*channel);
  };
  EXPECT_EQ(read(budgets::kRemoteDataBytes),
            "0: " + std::string(static_cast<size_t>(budgets::kRemoteDataBytes), '\0'));
  EXPECT_THAT(read(budgets::kRemoteDataBytes + 1), HasSubstr("1048577 bytes at once; 1048576"));
}

TEST_F(VtaRemote, ClientsHaveMachinesOfTheirOwn) {
  Serve({.config = kConfig}, {}, /*machines=*/2);
  auto a = Connect(), b = Connect();
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_THAT(MessageOf(Connect().status()),
              HasSubstr("all of the server's 2 machines are in use"));
  const uint64_t here = *(*a)->Allocate(4096), there = *(*b)->Allocate(4096);
  EXPECT_EQ(here, there);
  ASSERT_TRUE((*a)->Write(here, Bytes(4096, 1)).ok());
  Bytes back(4096);
  ASSERT_TRUE((*b)->Read(there, back).ok());
  EXPECT_EQ(back, Bytes(4096, 0));
  // Programs at the same time.
  std::vector<std::thread> threads;
  std::array<Bytes, 2> results;
  for (auto* device : {&*a, &*b}) {
    const auto which = static_cast<size_t>(threads.size());
    threads.emplace_back([&results, device, which] {
      auto runtime = Runtime::Create(std::move(*device));
      for (int i = 0; runtime.ok() && i < 20; ++i) {
        const auto bytes = AddImmediate(**runtime, Bytes(1024, 3), static_cast<int32_t>(which) + i);
        if (bytes.ok()) results[which] = *bytes;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(results[0], Bytes(1024, 22));
  EXPECT_EQ(results[1], Bytes(1024, 23));
  ExpectMachines(0);
  ExpectServes();
}

TEST_F(VtaRemote, LimitsOfTheServerHold) {
  Serve({.config = kConfig,
         .limits = {.memory_bytes = uint64_t{66} << 20, .instructions = 6, .steps = 1000}});
  auto runtime = ConnectRuntime();
  ASSERT_TRUE(runtime.ok()) << runtime.status();
  EXPECT_EQ((*runtime)->AllocateBuffer(4 << 20).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ((*runtime)->AllocateBuffer(UINT64_MAX).status().code(),
            absl::StatusCode::kResourceExhausted);
  const auto too_long = AddImmediate(**runtime, Bytes(1024), 1);
  EXPECT_THAT(MessageOf(too_long.status()), HasSubstr("a program of 7 instructions; at most 6"));
  KernelSlot slot;
  const Status pushed = (*runtime)->PushKernel(Kernel::Mode::kAlu, slot, {}, [&]() -> Status {
    KILN_RETURN_IF_ERROR((*runtime)->BeginLoop(16000, 0, 0, 0));
    KILN_RETURN_IF_ERROR(
        (*runtime)->AddUop({.mode = Kernel::Mode::kAlu, .uop = {}, .use_immediate = true}));
    return (*runtime)->EndLoop();
  });
  ASSERT_TRUE(pushed.ok()) << pushed;
  const Status stopped = (*runtime)->Synchronise(0);
  EXPECT_EQ(stopped.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(MessageOf(stopped), HasSubstr("too_long: instruction 1"));
  EXPECT_TRUE((*runtime)->Synchronise(0).ok());
}

// A device with time elsewhere tells the same cycles and counters as one here.
TEST_F(VtaRemote, TimesComeBack) {
  Serve({.config = kConfig, .device = "cycle"});
  auto there = ConnectRuntime();
  ASSERT_TRUE(there.ok()) << there.status();
  auto device = MakeDevice("cycle", kConfig);
  ASSERT_TRUE(device.ok()) << device.status();
  auto here = Runtime::Create(*std::move(device));
  ASSERT_TRUE(here.ok()) << here.status();
  EXPECT_EQ(*AddImmediate(**there, Bytes(1024, 5), 7), *AddImmediate(**here, Bytes(1024, 5), 7));
  ASSERT_TRUE((*there)->device().last_run().has_value());
  EXPECT_EQ((*there)->device().last_run(), (*here)->device().last_run());
  EXPECT_GT((*there)->device().last_run()->cycles, 0u);
  EXPECT_GT((*there)->device().last_run()->counters[Counter::kAluSteps], 0u);
  ASSERT_TRUE((*there)->DependencyPop(2, 1).ok());
  EXPECT_FALSE((*there)->Synchronise(0).ok());
  EXPECT_EQ((*there)->device().last_run(), std::nullopt);
}

TEST_F(VtaRemote, SlowClientsAreLeft) {
  Serve({.config = kConfig},
        {.hello = Milliseconds(50), .between = Milliseconds(50), .of_a_message = Milliseconds(50)},
        /*machines=*/1);
  const auto silent = Raw();
  EXPECT_EQ(ReplyOf(*silent), "the connection was closed");
  const auto half = Raw();
  const Bytes frame = HelloFrame();
  ASSERT_TRUE(half->Send(std::span(frame).first(20), kLong).ok());
  EXPECT_EQ(ReplyOf(*half), "the connection was closed");
  auto idle = Connect();
  ASSERT_TRUE(idle.ok()) << idle.status();
  ExpectMachines(0);
  EXPECT_THAT(MessageOf((*idle)->Allocate(1).status()),
              HasSubstr("the device is lost with its memory"));
  ExpectServes();
}

// The client goes while its program runs: the server ends the program and serves the next.
TEST_F(VtaRemote, ClientClosesMidRun) {
  Serve({.config = kConfig, .limits = {.steps = 100'000'000}}, {}, /*machines=*/1);
  {
    auto device = Connect();
    ASSERT_TRUE(device.ok()) << device.status();
    const uint64_t address = *(*device)->Allocate(4096);
    const auto program =
        Assemble("---- ALU add imm=1 uop[0,1) loop 400x16000 dst(0,0) src(0,0)\n---- FINISH",
                 "text", Encoding(kConfig));
    ASSERT_TRUE(program.ok()) << program.status();
    ASSERT_TRUE((*device)->Write(address, *program).ok());
    (*device).reset();
    const auto channel = Raw();
    ExpectMachines(0);
    ASSERT_TRUE(channel->Send(HelloFrame(), kLong).ok());
    ASSERT_THAT(ReplyOf(*channel), HasSubstr("functional"));
    FrameWriter allocate(2);
    allocate.Number64(4096);
    ASSERT_TRUE(channel->Send(allocate.Take(), kLong).ok());
    ASSERT_THAT(ReplyOf(*channel), HasSubstr("0: "));
    FrameWriter write(4);
    write.Number64(address);
    write.Bytes(*program);
    ASSERT_TRUE(channel->Send(write.Take(), kLong).ok());
    ASSERT_EQ(ReplyOf(*channel), "0: ");
    FrameWriter run(6);
    for (const uint64_t number : {address, uint64_t{2}, uint64_t{0}}) run.Number64(number);
    ASSERT_TRUE(channel->Send(run.Take(), kLong).ok());
  }
  ExpectMachines(0);
  ExpectServes();
}

// A server that answers as it should, until it is asked to run a program.
class DyingServer {
 public:
  DyingServer() {
    auto listener = TcpListener::Bind("127.0.0.1", 0);
    EXPECT_TRUE(listener.ok()) << listener.status();
    listener_ = *std::move(listener);
    thread_ = std::thread([this] {
      const auto channel = listener_->Accept();
      RemoteSession session(settings_, [] { return OkStatus(); });
      Bytes payload;
      for (FrameHeader header; header.kind != static_cast<uint32_t>(RequestKind::kRun);) {
        std::array<uint8_t, FrameHeader::kBytes> bytes;
        if (!channel->Receive(bytes, kLong).ok()) return;
        header = FrameHeader::Parse(bytes);
        payload.resize(header.payload);
        if (header.kind == static_cast<uint32_t>(RequestKind::kRun)) break;
        if (!channel->Receive(payload, kLong).ok()) return;
        if (!channel->Send(session.Handle(header, payload), kLong).ok()) return;
      }
    });
  }
  ~DyingServer() { thread_.join(); }
  Endpoint local() const { return listener_->local(); }

 private:
  const ServiceSettings settings_{.token = kTestToken, .config = kConfig, .device = "functional"};
  std::unique_ptr<TcpListener> listener_;
  std::thread thread_;
};

TEST_F(VtaRemote, ServerDiesMidRun) {
  DyingServer dying;
  auto device = MakeRemoteDevice(dying.local(), kTestToken, kConfig);
  ASSERT_TRUE(device.ok()) << device.status();
  auto runtime = Runtime::Create(*std::move(device));
  ASSERT_TRUE(runtime.ok()) << runtime.status();
  const auto lost = AddImmediate(**runtime, Bytes(1024, 5), 7);
  EXPECT_EQ(lost.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(MessageOf(lost.status()),
              HasSubstr("the device is lost with its memory: the connection was closed"));
  EXPECT_EQ((*runtime)->AllocateBuffer(1).status(), lost.status());
  EXPECT_EQ((*runtime)->Synchronise(0), lost.status());
  Serve();
  ExpectServes();
}

TEST_F(VtaRemote, ServerStopsWhileClientsAreConnected) {
  Serve();
  auto runtime = ConnectRuntime();
  ASSERT_TRUE(runtime.ok()) << runtime.status();
  const Endpoint place = server_->local();
  server_.reset();
  EXPECT_EQ((*runtime)->Synchronise(0).code(), absl::StatusCode::kUnavailable);
  const auto nobody = MakeRemoteDevice(place, kTestToken, kConfig);
  EXPECT_EQ(nobody.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(MessageOf(nobody.status()), HasSubstr("no connection: "));
}

// Servers that say nothing, or what no server says.
TEST(VtaRemoteClient, OddServers) {
  const auto answer = [](const Bytes& bytes, const ClientTimes& times) {
    auto listener = TcpListener::Bind("127.0.0.1", 0);
    EXPECT_TRUE(listener.ok()) << listener.status();
    std::thread server([&] {
      const auto channel = (*listener)->Accept();
      (void)channel->Send(bytes, kLong);
      Bytes until_closed(1 << 16);
      (void)channel->Receive(until_closed, kLong);
    });
    const auto device = MakeRemoteDevice((*listener)->local(), kTestToken, kConfig, times);
    server.join();
    return MessageOf(device.status());
  };
  EXPECT_THAT(answer({}, {.reply = Milliseconds(50)}), HasSubstr("nothing for 0.05 s"));
  EXPECT_THAT(answer(Bytes(8, 0xff), {}), HasSubstr("it answers with something else"));
  EXPECT_THAT(answer(Bytes(8, 0), {}), HasSubstr("it answers with something else"));
  EXPECT_THAT(answer({1, 0, 0, 0, 99, 0, 0, 0, 'x'}, {}), HasSubstr(": x"));
}

TEST(VtaRemoteClient, PlacesAndTokens) {
  EXPECT_EQ(Endpoint::Parse("host:17")->ToString(), "host:17");
  EXPECT_EQ(Endpoint::Parse("[::1]:17")->ToString(), "[::1]:17");
  for (const char* wrong :
       {"", "host", "host:", ":17", "host:0", "host:70000", "host:1x", "::1:17", "[]:1"}) {
    EXPECT_THAT(MessageOf(Endpoint::Parse(wrong).status()), HasSubstr("is no place to connect to"))
        << wrong;
  }
  const TemporaryFolder folder = *TemporaryFolder::Create("kiln-vta-remote");
  const std::string file = (folder.path() / "token").string();
  const auto token = [&](const std::string& text) {
    EXPECT_TRUE(WriteFile(file, text).ok());
    fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
    const auto read = TokenOfFile(file);
    return read.ok() ? *read : MessageOf(read.status());
  };
  EXPECT_EQ(token("0123456789abcdef\n"), "0123456789abcdef");
  EXPECT_THAT(token("0123456789abcde\n"), HasSubstr("token: a token of 15 characters; 16 to 256"));
  EXPECT_THAT(token("0123456789\nabcdef"), HasSubstr("other than printable"));
  fs::permissions(file, fs::perms::group_read, fs::perm_options::add);
  EXPECT_THAT(
      MessageOf(TokenOfFile(file).status()),
      HasSubstr("token: a token that others may read or change (mode 0640); chmod 600 " + file));
  EXPECT_TRUE(SameSecret("", ""));
  EXPECT_FALSE(SameSecret("a", "b"));
  EXPECT_FALSE(SameSecret("a", std::string("a\0", 2)));
  EXPECT_FALSE(SameSecret("aa", "a"));
}

TEST(VtaRemoteServer, RefusesWhatItCannotServe) {
  const auto error = [](ServerSettings settings) {
    return MessageOf(RemoteServer::Start(std::move(settings)).status());
  };
  const ServiceSettings right{.token = kTestToken, .config = kConfig, .device = "functional"};
  ServiceSettings wrong = right;
  wrong.token = "";
  EXPECT_THAT(error({.service = wrong}), HasSubstr("a token of 0 characters"));
  wrong = right;
  wrong.device = "board";
  EXPECT_THAT(error({.service = wrong}), HasSubstr("there is no device 'board'"));
  wrong.device = "remote:localhost:1";
  EXPECT_THAT(error({.service = wrong}), HasSubstr("is elsewhere"));
  EXPECT_THAT(error({.service = right, .address = "localhost"}),
              HasSubstr("'localhost' is no address"));
  EXPECT_THAT(error({.service = right, .address = "192.0.2.1"}), HasSubstr("192.0.2.1:0: "));
  auto first = RemoteServer::Start({.service = right});
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_TRUE((*first)->is_loopback());
  EXPECT_THAT(error({.service = right, .port = (*first)->local().port}), HasSubstr("in use"));
}

}  // namespace
}  // namespace kiln::vta
