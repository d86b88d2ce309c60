// The stream in: headers and the beats behind them (docs/binary-machine.md, "Streams").
#ifndef KILN_TARGETS_BINARY_ISA_STREAM_H_
#define KILN_TARGETS_BINARY_ISA_STREAM_H_

#include <cstdint>
#include <span>
#include <vector>

#include "kiln/targets/binary/isa/program.h"

namespace kiln::binary {

enum class Command : uint8_t { kWrite = 1, kRun = 2 };
// What a write fills. All but the machine's settings belong to a stage; weights, parameters,
// thresholds and limits to a column of it.
enum class Target : uint8_t {
  kMachine,
  kSettings,
  kSteps,
  kWeights,
  kParameters,
  kThresholds,
  kLimits
};

// The low 64 bits of a header beat; each member names its bits.
struct Header {
  Command command = Command::kWrite;  // 3:0
  Target target = Target::kMachine;   // 7:4
  int stage = 0;                      // 11:8
  int column = 0;                     // 19:12
  int address = 0;                    // 35:20
  int64_t beats = 0;                  // 63:36
  friend bool operator==(const Header&, const Header&) = default;
};
uint64_t Encode(const Header& header);

// Words of a stage's settings, in the order of their addresses.
inline constexpr int kSettingsWords = 9;
std::vector<uint64_t> SettingsOf(const BlockProgram& program, int stage);
// Words of the table of steps.
std::vector<uint64_t> StepsOf(const BlockProgram& program, int stage);

// Appends everything that loads a program: headers, settings, weights and parameters.
void AppendLoad(const BlockProgram& program, std::vector<uint8_t>* stream);
// Returns the beats of AppendLoad.
int64_t LoadBeats(const BlockProgram& program);
// Appends a run: a header and the records of all pixels, rows first. `codes` has record_beats *
// Config::beat_codes() codes of each pixel.
void AppendRun(const BlockProgram& program, std::span<const int32_t> codes,
               std::vector<uint8_t>* stream);

// A place of the window that is looked up: a channel of a word at a lane of a group. -1: none.
struct WindowPlace {
  int ky = -1, kx = -1, channel = -1;
  bool exists() const { return channel >= 0; }
};
// Returns the place that group `fetch` of a window has at `lane` for channel `channel` of a word.
WindowPlace PlaceOf(const StageProgram& stage, const StageLayout& layout, const Config& config,
                    int number, int fetch, int lane, int channel);

// Results by stage: of each pixel, rows first, list * columns codes. Empty: the stage emits none.
using StageResults = std::vector<std::vector<int32_t>>;
// Appends a beat of the stream out: the codes of all columns of a stage, and in the last byte the
// number of the stage.
void AppendResult(const Config& config, int stage, std::span<const int32_t> codes,
                  std::vector<uint8_t>* beats);
// Returns the beats of the stream out, by stage of the machine and in all.
std::vector<size_t> BeatsOutByStage(const BlockProgram& program);
int64_t BeatsOut(const BlockProgram& program);
// Sorts the beats of the stream out by stage. Error: a beat of a stage that has all its results.
StatusOr<StageResults> SplitResults(const BlockProgram& program, std::span<const uint8_t> beats);

}  // namespace kiln::binary

#endif  // KILN_TARGETS_BINARY_ISA_STREAM_H_
