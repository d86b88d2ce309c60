// Connections between threads of this process.
#include "kiln/net/tcp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace kiln {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr milliseconds kLong{20000};

TEST(Endpoint, IsHostAndPort) {
  const auto named = Endpoint::Parse("machine.example:65535");
  ASSERT_TRUE(named.ok()) << named.status();
  EXPECT_EQ(named->host, "machine.example");
  EXPECT_EQ(named->port, 65535);
  const auto six = Endpoint::Parse("[fe80::1]:1");
  ASSERT_TRUE(six.ok()) << six.status();
  EXPECT_EQ(six->host, "fe80::1");
  EXPECT_EQ(six->ToString(), "[fe80::1]:1");
  for (const char* wrong : {"", ":", "host", "host:", ":17", "host:0", "host:65536", "host:-1",
                            "host:1x", "host: 1", "fe80::1:17", "[]:1"}) {
    EXPECT_THAT(MessageOf(Endpoint::Parse(wrong).status()), HasSubstr("is no place to connect to"))
        << wrong;
  }
}

// A listener and a connection to it, both ends.
struct Pair {
  std::unique_ptr<TcpListener> listener;
  std::unique_ptr<TcpChannel> client, server;
};
// Returns the pair, or nothing where this machine has no such address.
std::optional<Pair> Connected(const std::string& bound, const std::string& to) {
  auto listener = TcpListener::Bind(bound, 0);
  if (!listener.ok()) return std::nullopt;
  auto client = TcpChannel::Connect({.host = to, .port = (*listener)->local().port}, kLong);
  if (!client.ok()) return std::nullopt;
  auto server = (*listener)->Accept();
  EXPECT_NE(server, nullptr);
  return Pair{*std::move(listener), *std::move(client), std::move(server)};
}

TEST(TcpChannel, CarriesBytesBothWays) {
  const auto pair = Connected("127.0.0.1", "127.0.0.1");
  ASSERT_TRUE(pair.has_value());
  EXPECT_TRUE(pair->listener->is_loopback());
  std::vector<uint8_t> sent(100000), received(sent.size());
  for (size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<uint8_t>(i * 7);
  for (auto [from, to] : {std::pair(pair->client.get(), pair->server.get()),
                          std::pair(pair->server.get(), pair->client.get())}) {
    auto sending =
        std::async(std::launch::async, [&, from = from] { return from->Send(sent, kLong); });
    EXPECT_EQ(to->Receive(received, kLong), OkStatus());
    EXPECT_EQ(sending.get(), OkStatus());
    EXPECT_EQ(received, sent);
  }
}

// Clients are counted by their address: an IPv4 address also where it comes in IPv6's form, and the
// network of an IPv6 address.
TEST(TcpChannel, PeersAreAddressesOfClients) {
  const auto four = Connected("127.0.0.1", "127.0.0.1");
  ASSERT_TRUE(four.has_value());
  EXPECT_EQ(four->server->peer(), "127.0.0.1");
  EXPECT_EQ(four->client->peer(), "");
  if (const auto mapped = Connected("::", "127.0.0.1")) {
    EXPECT_EQ(mapped->server->peer(), "127.0.0.1");
    EXPECT_FALSE(mapped->listener->is_loopback());
  }
  if (const auto six = Connected("::1", "::1")) {
    EXPECT_EQ(six->server->peer(), "::/64");
  }
}

TEST(TcpChannel, EveryStepHasALimitOfTime) {
  const auto pair = Connected("127.0.0.1", "127.0.0.1");
  ASSERT_TRUE(pair.has_value());
  std::array<uint8_t, 2> two = {1, 2};
  EXPECT_EQ(pair->server->Send(std::span(two).first(1), kLong), OkStatus());
  EXPECT_EQ(pair->client->Receive(two, milliseconds(20)).code(), StatusCode::kDeadlineExceeded);
  // Half of an answer is lost, so the connection is, too.
  EXPECT_EQ(pair->client->Receive(two, kLong).code(), StatusCode::kUnavailable);
}

TEST(TcpChannel, InterruptedItTakesAndSendsNothing) {
  const auto pair = Connected("127.0.0.1", "127.0.0.1");
  ASSERT_TRUE(pair.has_value());
  std::array<uint8_t, 4> word = {1, 2, 3, 4};
  ASSERT_EQ(pair->server->Send(word, kLong), OkStatus());
  // Once one byte is there, all of them are.
  ASSERT_EQ(pair->client->Receive(std::span(word).first(1), kLong), OkStatus());
  pair->client->Interrupt();
  EXPECT_EQ(pair->client->Receive(std::span(word).first(1), kLong).code(),
            StatusCode::kUnavailable);
  EXPECT_EQ(pair->client->Send(word, kLong).code(), StatusCode::kUnavailable);
}

// Who closes gently takes what the other side still sends, until that closes too.
TEST(TcpChannel, ClosesGently) {
  auto pair = Connected("127.0.0.1", "127.0.0.1");
  ASSERT_TRUE(pair.has_value());
  std::array<uint8_t, 1> last = {42};
  ASSERT_EQ(pair->server->Send(last, kLong), OkStatus());
  auto closing = std::async(std::launch::async, [&] { pair->server->CloseGently(kLong); });
  last[0] = 0;
  ASSERT_EQ(pair->client->Receive(last, kLong), OkStatus());
  EXPECT_EQ(last[0], 42);
  const std::vector<uint8_t> more(1 << 20);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(pair->client->Send(more, kLong), OkStatus());
  pair->client.reset();
  closing.get();
}

TEST(TcpListener, InterruptedItAcceptsNobody) {
  const auto listener = TcpListener::Bind("127.0.0.1", 0);
  ASSERT_TRUE(listener.ok()) << listener.status();
  auto accepted = std::async(std::launch::async, [&] { return (*listener)->Accept(); });
  (*listener)->Interrupt();
  EXPECT_EQ(accepted.get(), nullptr);
  EXPECT_THAT(MessageOf(TcpListener::Bind("nowhere", 0).status()), HasSubstr("is no address"));
}

}  // namespace
}  // namespace kiln
