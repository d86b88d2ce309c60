// A device at the other end of a stream of bytes: the messages, and the serving side of a conversation. No sockets here
// (remote_transport.h).
//
// The client asks, the server answers, one request at a time. A message is a header - bytes of what follows, u32; kind,
// u32 - and its payload; numbers are little-endian. The kind of a reply is a status code (absl's numbers; 0: done) and
// its payload then the result or the message. Bytes of payloads:
//
//   request       payload                                                               result
//   1 hello       "KVTA", version u32, token (u32 and bytes), design point's sizes      version u32, device's name
//   2 allocate    bytes u64                                                             address u64
//   3 free        address u64                                                           -
//   4 write       address u64, the bytes                                                -
//   5 read        address u64, count u32                                                the bytes
//   6 run         address u64, instructions u64, cycles to wait u64 (0: no limit)       the time it took, if counted
//
// A time is cycles u64, how many counters u32, and those (u64 each, in the order of counters.def); a device without
// time sends nothing.
//
// Token, sizes (SizesOf) and name are u32 and as many bytes. Hello comes first and once. A payload has at most
// kMaxPayload bytes, which is checked before there is room for it; what does not fit the table ends the conversation
// with a reply that says so. A request that the device refuses does not.
#ifndef KILN_TARGETS_VTA_REMOTE_PROTOCOL_H_
#define KILN_TARGETS_VTA_REMOTE_PROTOCOL_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/support/budgets.h"
#include "kiln/support/status.h"
#include "kiln/targets/vta/device.h"

namespace kiln::vta {

inline constexpr uint32_t kRemoteMagic = 0x4154564b;  // "KVTA"
inline constexpr uint32_t kRemoteVersion = 1;
inline constexpr uint32_t kMaxData =
    budgets::kRemoteDataBytes;  // bytes of memory that a write or read moves
inline constexpr uint32_t kMaxPayload = kMaxData + 64;  // of any message
inline constexpr uint32_t kMaxHello =
    budgets::kRemoteHelloBytes;  // of a client that has not shown its token
inline constexpr size_t kMinToken = 16, kMaxToken = 256;  // bytes

enum class RequestKind : uint32_t {
  kHello = 1,
  kAllocate = 2,
  kFree = 3,
  kWrite = 4,
  kRead = 5,
  kRun = 6
};

struct FrameHeader {
  static constexpr size_t kBytes = 8;
  uint32_t payload = 0;  // bytes
  uint32_t kind = 0;

  static FrameHeader Parse(std::span<const uint8_t, kBytes> bytes);
};

// Builds a message from its begin to its end.
class FrameWriter {
 public:
  explicit FrameWriter(uint32_t kind);
  void Number32(uint32_t value);
  void Number64(uint64_t value);
  void Bytes(std::span<const uint8_t> bytes);
  void Text(std::string_view text);  // length and bytes
  // The message; the writer is empty then.
  std::vector<uint8_t> Take();

 private:
  std::vector<uint8_t> frame_;
};

// Takes a payload apart. Beyond its end there are zeros and nothing, and ok() is false from then on.
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

// Whether two texts are the same, in a time that depends on their lengths alone.
bool SameSecret(std::string_view a, std::string_view b);
// Errors: too short or too long for a token, or with letters that no file of one line holds.
Status CheckToken(std::string_view token);

// What a server gives to each client.
struct ServiceSettings {
  std::string token = {};
  Config config;
  std::string device = "functional";  // MakeDevice's name
  DeviceLimits limits = {};
};

// One client's conversation with a machine of its own, which is made when its hello is right.
class RemoteSession {
 public:
  // `settings` stands as long as the session. `admit` is asked when a hello is right: an error turns the client away.
  RemoteSession(const ServiceSettings& settings, std::function<Status()> admit)
      : settings_(settings), admit_(std::move(admit)) {}

  // Whether a request of that header may come now. Nothing of its payload has been read.
  Status CheckHeader(const FrameHeader& header) const;
  // Does what a request of a right header asks; its reply.
  std::vector<uint8_t> Handle(const FrameHeader& header, std::span<const uint8_t> payload);
  // Whether the last reply was the last.
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

// Where bytes come from and go to.
class ByteChannel {
 public:
  using Duration = std::chrono::milliseconds;
  virtual ~ByteChannel() = default;
  // All of `bytes`. Unavailable: the other side has closed, or is gone. DeadlineExceeded: not within `most`.
  virtual Status Receive(std::span<uint8_t> bytes, Duration most) = 0;
  virtual Status Send(std::span<const uint8_t> bytes, Duration most) = 0;
};

struct ServiceTimes {
  ByteChannel::Duration hello{
      10'000};  // from the connection to the last byte of the hello, however it comes
  ByteChannel::Duration between{3'600'000};  // from one reply to the next request's header
  ByteChannel::Duration of_a_message{
      30'000};  // from a header to the payload's end; for a reply to be taken
};

// Answers requests until the conversation ends, the channel closes, or the client takes too long. The time for the
// hello begins with the call.
void ServeRequests(ByteChannel& channel, RemoteSession& session, const ServiceTimes& times);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_REMOTE_PROTOCOL_H_
