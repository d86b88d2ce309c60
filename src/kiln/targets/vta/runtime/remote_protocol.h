// The protocol of remote devices (docs/vta-runtime.md): its messages, and the server's side of a
// conversation. It does not depend on sockets: all bytes pass through a ByteChannel.
//
// The client sends requests and the server replies, one request at a time. A message is a header
// (bytes of the payload u32, kind u32) and its payload. Numbers are little-endian. The kind of a
// reply is a status code (absl's numbers; 0: done), and its payload is the result or the text of
// the error. Payloads:
//
//   request      payload                                            result
//   1 hello      "KVTA", version u32, token, design point's sizes   version u32, device's name
//   2 allocate   bytes u64                                          address u64
//   3 free       address u64                                        -
//   4 write      address u64, the bytes                             -
//   5 read       address u64, count u32                             the bytes
//   6 run        address u64, instructions u64, cycles to wait      the time it took, if counted
//                u64 (0: no limit)
//
// A time is cycles u64, number of counters u32, and the counters (u64 each, in the order of
// counters.def). A device without time sends nothing.
//
// Token, sizes (SizesOf) and name are encoded as their length u32 and their bytes. There is exactly
// one hello, which comes first. A payload has at most kMaxPayload bytes, which is checked before
// memory is allocated for it. A request that does not fit the table gets an error and ends the
// conversation. A request that the device refuses gets an error and does not.
#ifndef KILN_TARGETS_VTA_RUNTIME_REMOTE_PROTOCOL_H_
#define KILN_TARGETS_VTA_RUNTIME_REMOTE_PROTOCOL_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/net/byte_channel.h"
#include "kiln/support/budgets.h"
#include "kiln/support/status.h"
#include "kiln/targets/vta/runtime/device.h"

namespace kiln::vta {

inline constexpr uint32_t kRemoteMagic = 0x4154564b;  // "KVTA"
inline constexpr uint32_t kRemoteVersion = 1;
inline constexpr uint32_t kMaxData =
    budgets::kRemoteDataBytes;  // bytes of memory that a write or read moves
inline constexpr uint32_t kMaxPayload = kMaxData + 64;  // bytes of any message's payload
inline constexpr uint32_t kMaxHello =
    budgets::kRemoteHelloBytes;  // bytes of a hello, whose sender has not proved its token
inline constexpr size_t kMinToken = 16, kMaxToken = 256;  // bytes

enum class RequestKind : uint32_t {
  kHello = 1,
  kAllocate = 2,
  kFree = 3,
  kWrite = 4,
  kRead = 5,
  kRun = 6
};

// The header of a message.
struct FrameHeader {
  static constexpr size_t kBytes = 8;
  uint32_t payload = 0;  // bytes
  uint32_t kind = 0;

  static FrameHeader Parse(std::span<const uint8_t, kBytes> bytes);
};

// A writer that builds a message from its start to its end.
class FrameWriter {
 public:
  explicit FrameWriter(uint32_t kind);
  void Number32(uint32_t value);
  void Number64(uint64_t value);
  void Bytes(std::span<const uint8_t> bytes);
  void Text(std::string_view text);  // length and bytes
  // Returns the message and leaves the writer empty.
  std::vector<uint8_t> Take();

 private:
  std::vector<uint8_t> frame_;
};

// A reader that parses a payload. Reads beyond its end return zeros or empty data, and ok() is
// false from then on.
class PayloadReader {
 public:
  explicit PayloadReader(std::span<const uint8_t> payload) : rest_(payload) {}
  uint32_t Number32();
  uint64_t Number64();
  std::string Text();
  std::span<const uint8_t> Rest();
  bool ok() const { return ok_; }
  bool all_read() const { return ok_ && rest_.empty(); }

 private:
  std::span<const uint8_t> Take(size_t bytes);

  std::span<const uint8_t> rest_;
  bool ok_ = true;
};

// Returns whether two texts are equal, in a time that depends only on their lengths.
bool SameSecret(std::string_view a, std::string_view b);
// Checks that a text can be a token. Errors: it is too short or too long, or has characters other
// than printable ASCII without spaces.
Status CheckToken(std::string_view token);

// The service that a server offers each client.
struct ServiceSettings {
  std::string token = {};
  Config config;
  std::string device = "functional";  // a name for MakeDevice
  DeviceLimits limits = {};
};

// The conversation with one client. Its machine is made when its hello has been accepted.
class RemoteSession {
 public:
  // `settings` must outlive the session. `admit` is called for a valid hello; if it returns an
  // error, the client is turned away.
  RemoteSession(const ServiceSettings& settings, std::function<Status()> admit)
      : settings_(settings), admit_(std::move(admit)) {}

  // Checks that a request with this header is allowed now. Called before its payload is read.
  Status CheckHeader(const FrameHeader& header) const;
  // Executes a request whose header has been checked, and returns its reply.
  std::vector<uint8_t> Handle(const FrameHeader& header, std::span<const uint8_t> payload);
  // Returns whether the conversation ends with the latest reply.
  bool ended() const { return ended_; }

  static std::vector<uint8_t> ErrorReply(const Status& status);

 private:
  Status Hello(PayloadReader& payload, FrameWriter& reply);
  Status Serve(RequestKind kind, PayloadReader& payload, FrameWriter& reply);

  const ServiceSettings& settings_;
  const std::function<Status()> admit_;
  std::unique_ptr<Device> device_;
  std::vector<uint8_t> data_;
  bool ended_ = false;
};

// How long a server waits for a client, in milliseconds.
struct ServiceTimes {
  ByteChannel::Duration hello{
      10'000};  // from the connection to the hello's last byte, however its bytes are spread
  ByteChannel::Duration between{3'600'000};  // from one reply to the next request's header
  ByteChannel::Duration of_a_message{
      30'000};  // from a header to the payload's end; until the client has accepted a reply
};

// Answers requests until the conversation ends, the channel closes, or the client exceeds a time
// limit. The time limit of the hello starts with the call.
void ServeRequests(ByteChannel& channel, RemoteSession& session, const ServiceTimes& times);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_RUNTIME_REMOTE_PROTOCOL_H_
