// Encodes headers and beats.

#include "kiln/targets/cgra/isa/stream.h"

#include <bit>
#include <cstring>

#include "kiln/support/check.h"

namespace kiln::cgra {

uint64_t Encode(const Header& header) {
  const auto placed = [](int64_t value, int low, int bits) {
    return (static_cast<uint64_t>(value) & ((uint64_t{1} << bits) - 1)) << low;
  };
  uint64_t word = placed(static_cast<int64_t>(header.command), 0, 4);
  if (header.command == Command::kRun) {
    return word | placed(header.interval, 16, 8) | placed(header.latency, 32, 16) |
           placed(header.deliveries, 48, 8) | placed(header.outputs, 56, 4);
  }
  return word | placed(static_cast<int64_t>(header.target), 4, 4) | placed(header.tile, 8, 8) |
         placed(header.address, 16, 16) | placed(header.beats, 32, 32);
}

Header DecodeHeader(uint64_t word) {
  const auto field = [word](int low, int bits) {
    return static_cast<int64_t>((word >> low) & ((uint64_t{1} << bits) - 1));
  };
  Header header;
  header.command = static_cast<Command>(field(0, 4));
  if (header.command == Command::kRun) {
    header.interval = static_cast<int>(field(16, 8));
    header.latency = static_cast<int>(field(32, 16));
    header.deliveries = static_cast<int>(field(48, 8));
    header.outputs = static_cast<int>(field(56, 4));
  } else if (header.command == Command::kWrite) {
    header.target = static_cast<WriteTarget>(field(4, 4));
    header.tile = static_cast<int>(field(8, 8));
    header.address = static_cast<int>(field(16, 16));
    header.beats = field(32, 32);
  }
  return header;
}

void AppendWord(const Config& config, uint64_t word, std::vector<uint8_t>* stream) {
  const size_t begin = stream->size();
  stream->resize(begin + BeatBytes(config), 0);
  for (size_t i = 0; i < 8; ++i) (*stream)[begin + i] = static_cast<uint8_t>(word >> (8 * i));
}

void AppendLanes(const Config& config, std::span<const int32_t> lanes,
                 std::vector<uint8_t>* stream) {
  KILN_CHECK(std::ssize(lanes) == config.lanes);
  const size_t begin = stream->size();
  stream->resize(begin + 4 * lanes.size());
  uint8_t* to = stream->data() + begin;
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(to, lanes.data(), 4 * lanes.size());
    return;
  }
  for (const int32_t lane : lanes) {
    for (int i = 0; i < 4; ++i) {
      *to++ = static_cast<uint8_t>(static_cast<uint32_t>(lane) >> (8 * i));
    }
  }
}

uint64_t WordOf(std::span<const uint8_t> beat) {
  uint64_t word = 0;
  for (size_t i = 0; i < 8; ++i) word |= uint64_t{beat[i]} << (8 * i);
  return word;
}

void ReadLanes(std::span<const uint8_t> beats, std::span<int32_t> lanes) {
  KILN_CHECK(beats.size() >= 4 * lanes.size());
  if constexpr (std::endian::native == std::endian::little) {
    if (!lanes.empty()) std::memcpy(lanes.data(), beats.data(), 4 * lanes.size());
    return;
  }
  for (size_t lane = 0; lane < lanes.size(); ++lane) {
    uint32_t value = 0;
    for (size_t i = 0; i < 4; ++i) value |= uint32_t{beats[4 * lane + i]} << (8 * i);
    lanes[lane] = static_cast<int32_t>(value);
  }
}

}  // namespace kiln::cgra
