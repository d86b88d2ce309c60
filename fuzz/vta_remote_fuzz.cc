// Fuzz target: sends any bytes to a server of VTA devices. Every session must end, no read may
// exceed the largest message, and every reply must be complete.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "fuzz/vta_remote_service.h"
#include "kiln/support/check.h"
#include "kiln/targets/vta/runtime/remote_protocol.h"

namespace {

using namespace kiln::vta;  // NOLINT: a program of one file
using kiln::ByteChannel;

// A connection that delivers the fuzzer's bytes and checks the replies.
class Conversation final : public ByteChannel {
 public:
  explicit Conversation(std::span<const uint8_t> rest) : rest_(rest) {}
  kiln::Status Receive(std::span<uint8_t> bytes, Duration /*most*/) override {
    KILN_CHECK(bytes.size() <= kMaxPayload);
    if (bytes.size() > rest_.size()) return absl::UnavailableError("the connection was closed");
    if (!bytes.empty()) std::memcpy(bytes.data(), rest_.data(), bytes.size());
    rest_ = rest_.subspan(bytes.size());
    return kiln::OkStatus();
  }
  kiln::Status Send(std::span<const uint8_t> bytes, Duration /*most*/) override {
    KILN_CHECK(bytes.size() >= FrameHeader::kBytes);
    const FrameHeader header = FrameHeader::Parse(bytes.first<FrameHeader::kBytes>());
    KILN_CHECK(header.payload == bytes.size() - FrameHeader::kBytes &&
               header.payload <= kMaxPayload);
    return kiln::OkStatus();
  }

 private:
  std::span<const uint8_t> rest_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const ServiceSettings service = SmallService();
  static const std::vector<uint8_t> hello = RightHello(service);
  if (size == 0) return 0;
  // The first byte selects whether the client has shown its token, which no fuzzer can guess.
  std::vector<uint8_t> bytes;
  if (data[0] % 4 != 0) bytes = hello;
  bytes.insert(bytes.end(), data + 1, data + size);
  Conversation conversation(bytes);
  RemoteSession session(service, [] { return kiln::OkStatus(); });
  ServeRequests(conversation, session, {});
  return 0;
}
