// Encodes and decodes the messages of the remote protocol, and answers a client's requests with
// calls of a device.

#include "kiln/targets/vta/runtime/remote_protocol.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <utility>

#include "fmt/format.h"

namespace kiln::vta {
namespace {

constexpr size_t kMaxMessage = 1024;  // greatest number of bytes of an error's text

// Payload sizes of requests.
struct Bounds {
  uint32_t least, most;
};
constexpr std::array<Bounds, 7> kBounds = {Bounds{1, 0},  // there is no request 0
                                           {16, kMaxHello},   {8, 8},   {8, 8},
                                           {8, 8 + kMaxData}, {12, 12}, {24, 24}};

void PutNumber(std::vector<uint8_t>& to, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) to.push_back(static_cast<uint8_t>(value >> (8 * i)));
}
uint64_t GetNumber(std::span<const uint8_t> from) {
  uint64_t value = 0;
  for (size_t i = 0; i < from.size(); ++i) value |= uint64_t{from[i]} << (8 * i);
  return value;
}

}  // namespace

FrameHeader FrameHeader::Parse(std::span<const uint8_t, kBytes> bytes) {
  return {.payload = static_cast<uint32_t>(GetNumber(bytes.first<4>())),
          .kind = static_cast<uint32_t>(GetNumber(bytes.last<4>()))};
}

FrameWriter::FrameWriter(uint32_t kind) {
  PutNumber(frame_, 0, 4);  // the length, which Take fills in
  PutNumber(frame_, kind, 4);
}
void FrameWriter::Number32(uint32_t value) { PutNumber(frame_, value, 4); }
void FrameWriter::Number64(uint64_t value) { PutNumber(frame_, value, 8); }
void FrameWriter::Bytes(std::span<const uint8_t> bytes) {
  frame_.insert(frame_.end(), bytes.begin(), bytes.end());
}
void FrameWriter::Text(std::string_view text) {
  Number32(static_cast<uint32_t>(text.size()));
  frame_.insert(frame_.end(), text.begin(), text.end());
}
std::vector<uint8_t> FrameWriter::Take() {
  const size_t payload = frame_.size() - FrameHeader::kBytes;
  for (size_t i = 0; i < 4; ++i) frame_[i] = static_cast<uint8_t>(payload >> (8 * i));
  return std::exchange(frame_, {});
}

std::span<const uint8_t> PayloadReader::Take(size_t bytes) {
  if (bytes > rest_.size()) {
    ok_ = false;
    return {};
  }
  const auto taken = rest_.first(bytes);
  rest_ = rest_.subspan(bytes);
  return taken;
}
uint32_t PayloadReader::Number32() { return static_cast<uint32_t>(GetNumber(Take(4))); }
uint64_t PayloadReader::Number64() { return GetNumber(Take(8)); }
std::string PayloadReader::Text() {
  const auto bytes = Take(Number32());
  return std::string(bytes.begin(), bytes.end());
}
std::span<const uint8_t> PayloadReader::Rest() { return Take(rest_.size()); }

bool SameSecret(std::string_view a, std::string_view b) {
  size_t difference = a.size() ^ b.size();
  for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const auto left = static_cast<uint8_t>(i < a.size() ? a[i] : 0),
               right = static_cast<uint8_t>(i < b.size() ? b[i] : 0);
    difference |= static_cast<size_t>(left ^ right);
  }
  return difference == 0;
}

Status CheckToken(std::string_view token) {
  if (token.size() < kMinToken || token.size() > kMaxToken) {
    return absl::InvalidArgumentError(
        fmt::format("a token of {} characters; {} to {}", token.size(), kMinToken, kMaxToken));
  }
  if (std::any_of(token.begin(), token.end(),
                  [](char letter) { return letter <= ' ' || letter > '~'; })) {
    return absl::InvalidArgumentError("a token with other than printable ASCII characters");
  }
  return OkStatus();
}

std::vector<uint8_t> RemoteSession::ErrorReply(const Status& status) {
  FrameWriter reply(static_cast<uint32_t>(status.code()));
  const std::string text = MessageOf(status).substr(0, kMaxMessage);
  reply.Bytes({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  return reply.Take();
}

Status RemoteSession::CheckHeader(const FrameHeader& header) const {
  if (header.kind == 0 || header.kind >= kBounds.size()) {
    return absl::InvalidArgumentError(
        fmt::format("there is no request {}; 1 to {}", header.kind, kBounds.size() - 1));
  }
  const auto [least, most] = kBounds[header.kind];
  if (header.payload < least || header.payload > most) {
    return absl::InvalidArgumentError(fmt::format("a request {} of {} bytes; {} to {}", header.kind,
                                                  header.payload, least, most));
  }
  const bool hello = header.kind == static_cast<uint32_t>(RequestKind::kHello);
  if (hello != (device_ == nullptr)) {
    return absl::FailedPreconditionError(hello ? "a second hello" : "a request before the hello");
  }
  return OkStatus();
}

std::vector<uint8_t> RemoteSession::Handle(const FrameHeader& header,
                                           std::span<const uint8_t> payload) {
  const auto kind = static_cast<RequestKind>(header.kind);
  PayloadReader reader(payload);
  FrameWriter reply(static_cast<uint32_t>(StatusCode::kOk));
  Status status;
  try {
    status = kind == RequestKind::kHello ? Hello(reader, reply) : Serve(kind, reader, reply);
  } catch (const std::exception& error) {  // memory is exhausted
    status = absl::ResourceExhaustedError(error.what());
  }
  ended_ = ended_ || device_ == nullptr;
  return status.ok() ? reply.Take() : ErrorReply(status);
}

Status RemoteSession::Hello(PayloadReader& payload, FrameWriter& reply) {
  const uint32_t magic = payload.Number32(), version = payload.Number32();
  if (magic != kRemoteMagic)
    return absl::InvalidArgumentError("this is a VTA device; the client speaks of something else");
  if (version != kRemoteVersion) {
    return absl::FailedPreconditionError(
        fmt::format("the client speaks version {} of the protocol; {}", version, kRemoteVersion));
  }
  const std::string token = payload.Text(), sizes = payload.Text();
  if (!payload.all_read())
    return absl::InvalidArgumentError("a hello that is not as long as it says");
  if (!SameSecret(token, settings_.token))
    return absl::PermissionDeniedError("the token is not the server's");
  if (const std::string own = SizesOf(settings_.config); sizes != own) {
    return absl::FailedPreconditionError(
        fmt::format("the client's design point is {}, the device's {}", sizes, own));
  }
  KILN_RETURN_IF_ERROR(admit_());
  KILN_ASSIGN_OR_RETURN(device_, MakeDevice(settings_.device, settings_.config, settings_.limits));
  reply.Number32(kRemoteVersion);
  reply.Text(settings_.device);
  return OkStatus();
}

Status RemoteSession::Serve(RequestKind kind, PayloadReader& payload, FrameWriter& reply) {
  if (kind == RequestKind::kAllocate) {
    KILN_ASSIGN_OR_RETURN(const uint64_t address, device_->Allocate(payload.Number64()));
    reply.Number64(address);
    return OkStatus();
  }
  const uint64_t address = payload.Number64();
  switch (kind) {
    case RequestKind::kFree:
      return device_->Free(address);
    case RequestKind::kWrite:
      return device_->Write(address, payload.Rest());
    case RequestKind::kRead: {
      const uint32_t bytes = payload.Number32();
      if (bytes > kMaxData)
        return absl::InvalidArgumentError(fmt::format("{} bytes at once; {}", bytes, kMaxData));
      data_.resize(bytes);
      KILN_RETURN_IF_ERROR(device_->Read(address, data_));
      reply.Bytes(data_);
      return OkStatus();
    }
    case RequestKind::kRun: {
      const uint64_t count = payload.Number64(), wait = payload.Number64();
      if (count > settings_.limits.instructions) {
        return absl::ResourceExhaustedError(fmt::format("a program of {} instructions; at most {}",
                                                        count, settings_.limits.instructions));
      }
      KILN_RETURN_IF_ERROR(device_->Run(address, count, wait));
      if (const auto time = device_->last_run()) {
        reply.Number64(time->cycles);
        reply.Number32(static_cast<uint32_t>(kCounters));
        for (const uint64_t value : time->counters.values()) reply.Number64(value);
      }
      return OkStatus();
    }
    case RequestKind::kHello:
    case RequestKind::kAllocate:
      break;
  }
  return absl::InternalError("a request of no kind");
}

void ServeRequests(ByteChannel& channel, RemoteSession& session, const ServiceTimes& times) {
  using Duration = ByteChannel::Duration;
  const auto hello_end = std::chrono::steady_clock::now() + times.hello;
  bool greeted = false;
  // A single limit covers everything up to the end of the hello, so a client that sends a byte now
  // and then gains no time.
  const auto limit = [&](Duration later) {
    if (greeted) return later;
    const auto left =
        std::chrono::duration_cast<Duration>(hello_end - std::chrono::steady_clock::now());
    return std::max(left, Duration::zero());
  };
  std::vector<uint8_t> payload;
  while (!session.ended()) {
    std::array<uint8_t, FrameHeader::kBytes> bytes;
    if (!channel.Receive(bytes, limit(times.between)).ok()) return;
    const FrameHeader header = FrameHeader::Parse(bytes);
    if (const Status status = session.CheckHeader(header); !status.ok()) {
      (void)channel.Send(RemoteSession::ErrorReply(status),
                         limit(times.of_a_message));  // the last message of this conversation
      return;
    }
    payload.resize(header.payload);
    if (!channel.Receive(payload, limit(times.of_a_message)).ok()) return;
    const std::vector<uint8_t> reply = session.Handle(header, payload);
    greeted = !session.ended();
    if (!channel.Send(reply, limit(times.of_a_message)).ok()) return;
  }
}

}  // namespace kiln::vta
