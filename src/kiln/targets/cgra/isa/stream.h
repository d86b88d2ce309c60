// Headers of the stream in: commands of the machine (docs/cgra-machine.md).
#ifndef KILN_TARGETS_CGRA_ISA_STREAM_H_
#define KILN_TARGETS_CGRA_ISA_STREAM_H_

#include <cstdint>
#include <span>
#include <vector>

#include "kiln/targets/cgra/config/config.h"

namespace kiln::cgra {

enum class Command : uint8_t { kWrite = 1, kRun = 2 };
enum class WriteTarget : uint8_t { kMemory0, kMemory1, kSpokes, kInstructions, kDeliveries };
inline constexpr int kWriteTargets = 5;

// The low 64 bits of a header, by its bits.
struct Header {
  Command command = Command::kWrite;             // 3:0
  WriteTarget target = WriteTarget::kMemory0;    // 7:4, of a write
  int tile = 0;                                  // 15:8, of a write
  int address = 0;                               // 31:16, of a write
  int64_t beats = 0;                             // 63:32, of a write
  int interval = 0;                              // 23:16, of a run
  int latency = 0, deliveries = 0, outputs = 0;  // 47:32, 55:48 and 59:56, of a run
  friend bool operator==(const Header&, const Header&) = default;
};
// Fields keep their low bits if they are too large.
uint64_t Encode(const Header& header);
// Returns the fields of the header's command; the other commands' fields are 0.
Header DecodeHeader(uint64_t word);

// Bytes of a beat of both streams.
inline size_t BeatBytes(const Config& config) { return 4 * static_cast<size_t>(config.lanes); }
// Appends a beat with this word in its low 64 bits.
void AppendWord(const Config& config, uint64_t word, std::vector<uint8_t>* stream);
// Appends a beat with these lanes.
void AppendLanes(const Config& config, std::span<const int32_t> lanes,
                 std::vector<uint8_t>* stream);
// Returns the low 64 bits of the beat that begins at `beat`.
uint64_t WordOf(std::span<const uint8_t> beat);
// Reads as many lanes from the beginning of `beats` as `lanes` has elements.
void ReadLanes(std::span<const uint8_t> beats, std::span<int32_t> lanes);

}  // namespace kiln::cgra

#endif  // KILN_TARGETS_CGRA_ISA_STREAM_H_
