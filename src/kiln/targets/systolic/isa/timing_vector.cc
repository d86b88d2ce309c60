// The vector unit's part of timing.h. Every word has a slot, as long as the word's beats on the
// operand port or the output port. Requests are issued slot by slot; a word enters the lanes when
// its operands are available and the slot of the word before has passed. Words of an output with
// block scales leave scale block by scale block.
#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kiln/hardware/axi_port.h"
#include "kiln/support/integer.h"
#include "kiln/targets/systolic/isa/stages.h"
#include "kiln/targets/systolic/isa/timing.h"

namespace kiln::systolic {
namespace {

// Requests run ahead of the lanes by operand_buffer_words less this many words.
constexpr int64_t kOperandBufferMargin = 2;

bool Uses(const std::vector<Stage>& stages, Argument argument) {
  return std::any_of(stages.begin(), stages.end(), [&](const Stage& s) {
    return s.a == argument || (s.op == StageOp::kFma && s.b == argument);
  });
}

bool IsWindowed(const VectorProgram& program, size_t pass, size_t operand) {
  return pass == 0 && operand == 0 && program.window.combine != Combine::kNone &&
         program.passes[0].source == Source::kOperand0;
}

// Returns the time of a sequence of words. The unit is busy until the last word has had its slot,
// and until output that waited for the end of its scale block has been written, not counting the
// pipeline's depth.
VectorTime TimeOf(int64_t turns, int64_t written, int64_t latency, int64_t depth) {
  const int64_t busy = std::max(turns, written);
  return {busy, std::max(busy, written + latency) + depth};
}

// The beats of a word on the ports.
struct WordBeats {
  int64_t operands = 0, output = 0;
  bool reads = false;  // whether the word reads memory; a window without a position in the image
                       // takes time but reads nothing
  int64_t slot() const { return std::max({int64_t{1}, operands, output}); }
  // Returns the cycles from the beginning of the word's slot until the word may enter the lanes.
  int64_t Lead(int64_t latency) const { return reads ? latency + operands : operands; }
};

// How output with block scales changes the backlog of the output port, that is, the cycles by which
// the port's beats extend beyond the slots of the words so far: from v to max(v + change, least).
struct Backlog {
  int64_t change = 0;
  int64_t least = kNone;

  static constexpr int64_t kNone = -(int64_t{1} << 60);

  Backlog Then(const Backlog& next) const {
    return {change + next.change, std::max(least + next.change, next.least)};
  }
  // Returns the effect of `times` repetitions. There are no more beats than slots: change <= 0.
  Backlog Times(int64_t times) const {
    return times == 0 ? Backlog{} : Backlog{change * times, least};
  }
};

// Returns the effect of a scale block's words: the block's output begins when its last word has
// entered the lanes and the previous block has been written.
Backlog BacklogOf(const std::vector<WordBeats>& block) {
  Backlog result;
  for (const WordBeats& word : block) result.change -= word.slot() - word.output;
  result.least = 0;
  for (const WordBeats& word : block) result.least += word.output;
  result.least -= block.back().slot();
  return result;
}

// Returns the effect of `count` consecutive blocks that repeat with the period of `period`.
Backlog Repeated(const std::vector<Backlog>& period, int64_t count) {
  const auto size = static_cast<int64_t>(period.size());
  Backlog whole, rest;
  for (int64_t i = 0; i < size; ++i) {
    whole = whole.Then(period[static_cast<size_t>(i)]);
    if (i < count % size) rest = rest.Then(period[static_cast<size_t>(i)]);
  }
  return whole.Times(count / size).Then(rest);
}

// The clock of the slots, valid as long as requests never wait for free space in the operand
// buffer.
class Slots {
 public:
  explicit Slots(const Config& config)
      : latency_(config.memory_latency), buffer_words_(config.operand_buffer_words) {}

  void Add(const WordBeats& word, int64_t times) { Add(times * word.slot(), word.Lead(latency_)); }
  // Adds words whose slots together take `cycles` cycles; the slowest of them may enter the lanes
  // `lead` cycles after its slot.
  void Add(int64_t cycles, int64_t lead) {
    lead_ = std::max(lead_, lead);
    slots_ += cycles;
  }
  void Gap(int64_t cycles) { slots_ += cycles; }
  // Records that the word added last is written to memory.
  void Written(const WordBeats& word) { written_ = slots_ - word.slot() + lead_ + word.output; }
  // Records that the words so far were written to memory in scale blocks, all with the same lead.
  void Written(const Backlog& backlog) { written_ = slots_ + lead_ + backlog.least; }
  int64_t lead() const { return lead_; }

  // Returns whether requests never had to wait. Words enter the lanes at most `lead_` cycles after
  // their slots, and a slot has at least one cycle, so at most that many words are in flight.
  bool unhindered() const { return lead_ <= buffer_words_ - kOperandBufferMargin; }

  VectorTime Time(int64_t depth) const { return TimeOf(slots_ + lead_, written_, latency_, depth); }

 private:
  const int64_t latency_;
  const int64_t buffer_words_;
  int64_t slots_ = 0;
  int64_t lead_ =
      0;  // cycles by which words enter the lanes after their slots: the longest operand latency so
          // far
  int64_t written_ =
      0;  // when the last byte has been handed to the output port, not counting the pipeline's
          // depth
};

// How a word is written to memory.
enum class Leaving { kNowhere, kAlone, kInBlock, kLastOfBlock };

// The same clock word by word, including stalls for free space in the operand buffer.
class BoundedSlots {
 public:
  explicit BoundedSlots(const Config& config)
      : latency_(config.memory_latency),
        entered_(static_cast<size_t>(config.operand_buffer_words - 1), -1) {}

  void Add(const WordBeats& word, Leaving leaving) {
    // The word that many positions earlier must have entered the lanes, in an earlier cycle.
    const int64_t begin = std::max(next_slot_, entered_[at_] + 1);
    const int64_t enter = std::max(next_turn_, begin + word.Lead(latency_));
    next_slot_ = begin + word.slot();
    next_turn_ = enter + word.slot();
    entered_[at_] = enter;
    at_ = at_ + 1 == entered_.size() ? 0 : at_ + 1;
    if (leaving == Leaving::kAlone) written_ = enter + word.output;
    if (leaving >= Leaving::kInBlock) block_beats_ += word.output;
    if (leaving == Leaving::kLastOfBlock)
      written_ = std::max(written_, enter) + std::exchange(block_beats_, 0);
  }
  void Gap(int64_t cycles) {
    next_slot_ += cycles;
    next_turn_ += cycles;
  }

  VectorTime Time(int64_t depth) const { return TimeOf(next_turn_, written_, latency_, depth); }

 private:
  const int64_t latency_;
  std::vector<int64_t> entered_;  // when the last words entered the lanes, as a ring buffer
  size_t at_ = 0;
  int64_t next_slot_ = 0, next_turn_ = 0;
  int64_t written_ = 0;
  int64_t block_beats_ = 0;  // output beats of the scale block's words so far
};

// A stream and the addresses at which a sequence of words accesses it.
struct Walk {
  const Stream* stream;
  uint64_t address;
  int64_t step;  // bytes from one word to the next
  bool output;
};

int64_t PortOf(const Walk& walk, const Config& config) {
  return walk.output ? config.output_port_bytes : config.operand_port_bytes;
}

// Adds the beats that a word of `elements` elements has at `address` of a walk's stream.
void AddBeats(const Config& config, const Walk& walk, uint64_t address, int64_t elements,
              WordBeats& word) {
  (walk.output ? word.output : word.operands) +=
      StreamBeats(*walk.stream, config, address, elements, PortOf(walk, config));
  word.reads = word.reads || !walk.output;
}

// Returns the beats of word `i` of such a sequence.
WordBeats BeatsAt(const Config& config, const std::vector<Walk>& walks, int64_t i,
                  int64_t elements) {
  WordBeats word;
  for (const Walk& walk : walks) {
    AddBeats(config, walk, walk.address + static_cast<uint64_t>(i * walk.step), elements, word);
  }
  return word;
}

// Adds `count` words of `elements` elements, all of them `times` times; returns the last word.
WordBeats AddRun(const Config& config, const std::vector<Walk>& walks, int64_t count,
                 int64_t elements, int64_t times, Slots& slots) {
  int64_t period = 1;
  for (const Walk& walk : walks)
    period = std::max(period, BeatPeriod(walk.step, PortOf(walk, config)));
  period = std::min(period, count);
  WordBeats last;
  for (int64_t i = 0; i < period; ++i) {
    const WordBeats word = BeatsAt(config, walks, i, elements);
    slots.Add(word, times * ((count - i + period - 1) / period));
    if (i == (count - 1) % period) last = word;
  }
  return last;
}

// Returns the cycles in which the operand fetch searches along one axis of a dilated window for its
// first position inside the image.
int64_t PlacesBefore(int64_t output, int32_t window, int32_t stride, int32_t dilation,
                     int32_t pad) {
  const int64_t distance = pad - output * stride;
  return dilation == 1 || distance <= 0 ? 0
                                        : std::min<int64_t>(window, CeilDivide(distance, dilation));
}

// Returns the beats of operand 0 over the positions of its window inside the image, including the
// cycles to find them. A window without such a position takes one cycle.
WordBeats WindowBeats(const VectorProgram& program, const Config& config, const OuterIndex& outer,
                      int64_t element, int64_t elements) {
  const Window& w = program.window;
  const Stream& stream = program.operands[0];
  int64_t beats = 0;
  for (int32_t ky = 0; ky < w.window_y; ++ky) {
    const int64_t y = outer[1] * w.stride_y - w.pad_top + int64_t{ky} * w.dilation_y;
    if (y < 0 || y >= w.height) continue;
    for (int32_t kx = 0; kx < w.window_x; ++kx) {
      const int64_t x = outer[2] * w.stride_x - w.pad_left + int64_t{kx} * w.dilation_x;
      if (x < 0 || x >= w.width) continue;
      const int64_t offset = outer[0] * stream.outer_stride[0] + outer[3] * stream.outer_stride[3] +
                             y * w.row_stride + x * w.column_stride +
                             element * stream.element_stride;
      beats += StreamBeats(stream, config, stream.base + static_cast<uint64_t>(offset), elements,
                           config.operand_port_bytes);
    }
  }
  // Both axes are searched at once.
  const int64_t before =
      std::max(PlacesBefore(outer[1], w.window_y, w.stride_y, w.dilation_y, w.pad_top),
               PlacesBefore(outer[2], w.window_x, w.stride_x, w.dilation_x, w.pad_left));
  return {before + std::max<int64_t>(beats, 1), 0, beats > 0};
}

// Returns the streams that pass `pass` accesses, except a windowed one.
std::vector<Walk> WalksOf(const VectorProgram& program, size_t pass, const OuterIndex& outer,
                          int64_t element) {
  std::vector<Walk> walks;
  for (size_t i = 0; i < program.operands.size(); ++i) {
    if (!PassReads(program, pass, i) || IsWindowed(program, pass, i)) continue;
    walks.push_back(
        {&program.operands[i], AddressOf(program.operands[i], outer, element), 0, false});
  }
  if (program.passes[pass].to_memory) {
    walks.push_back({&program.output, AddressOf(program.output, outer, element), 0, true});
  }
  return walks;
}

// One row in one pass.
struct RowBeats {
  std::vector<WordBeats> words;
  int64_t slots = 0;
  int64_t lead = 0;  // of the slowest word
};

// The times of the rows of a vector instruction. Rows whose streams have the same offsets within
// their beats take the same time, which is computed once.
class Rows {
 public:
  Rows(const VectorProgram& program, const Config& config) : program_(program), config_(config) {}

  // Returns a reference that is valid until the next call.
  const RowBeats& Of(size_t pass, const OuterIndex& outer) {
    const std::vector<Walk> walks = WalksOf(program_, pass, outer, 0);
    if (IsWindowed(program_, pass, 0)) return windowed_ = Count(pass, outer, walks);
    uint64_t key = 0;  // for as many walks as the pass has
    for (const Walk& walk : walks) {
      const auto port = static_cast<uint64_t>(PortOf(walk, config_));
      key = key * port + (walk.address & (port - 1));
    }
    const auto [at, fresh] = known_[pass].try_emplace(key);
    if (fresh) at->second = Count(pass, outer, walks);
    return at->second;
  }

 private:
  RowBeats Count(size_t pass, const OuterIndex& outer, const std::vector<Walk>& walks) const {
    const int64_t lanes = config_.lanes();
    RowBeats row;
    for (int64_t first = 0; first < program_.length; first += lanes) {
      const int64_t elements = std::min<int64_t>(lanes, program_.length - first);
      WordBeats word;
      if (IsWindowed(program_, pass, 0))
        word = WindowBeats(program_, config_, outer, first, elements);
      for (const Walk& walk : walks) {
        const uint64_t at =
            walk.address + static_cast<uint64_t>(first * walk.stream->element_stride);
        AddBeats(config_, walk, at, elements, word);
      }
      row.slots += word.slot();
      row.lead = std::max(row.lead, word.Lead(config_.memory_latency));
      row.words.push_back(word);
    }
    return row;
  }

  const VectorProgram& program_;
  const Config& config_;
  std::array<std::unordered_map<uint64_t, RowBeats>, kMaxPasses> known_;
  RowBeats windowed_;
};

// Returns the streams of column tile `tile` in a drain: word x of row y belongs to pixel (visit.y +
// y, visit.x + x).
std::vector<Walk> DrainWalks(const VectorProgram& program, const Config& config, const Visit& visit,
                             int32_t tile) {
  std::vector<Walk> walks =
      WalksOf(program, 0, {visit.batch, visit.y, visit.x, 0}, int64_t{tile} * config.array_columns);
  for (Walk& walk : walks) walk.step = walk.stream->outer_stride[2];
  return walks;
}

// Returns the same streams, `y` rows later.
std::vector<Walk> AtRow(std::vector<Walk> walks, int64_t y) {
  for (Walk& walk : walks) walk.address += static_cast<uint64_t>(y * walk.stream->outer_stride[1]);
  return walks;
}

VectorTime BoundedDrainTime(const Instruction& instruction, const Config& config,
                            const Visit& visit) {
  const VectorProgram& program = instruction.vector;
  BoundedSlots slots(config);
  const int32_t together = DrainColumns(program, config);
  const int32_t end = visit.first_column + visit.columns;
  for (int32_t first = visit.first_column; first < end; first += together) {
    const int32_t past = std::min(first + together, end);
    for (int32_t y = 0; y < visit.height; ++y) {
      std::vector<std::vector<Walk>> tiles;
      for (int32_t tile = first; tile < past; ++tile) {
        tiles.push_back(AtRow(DrainWalks(program, config, visit, tile), y));
      }
      for (int32_t x = 0; x < visit.width; ++x) {
        for (int32_t tile = first; tile < past; ++tile) {
          const auto& walks = tiles[static_cast<size_t>(tile - first)];
          const Leaving last_or_not = tile + 1 == past ? Leaving::kLastOfBlock : Leaving::kInBlock;
          slots.Add(BeatsAt(config, walks, x, ValidColumns(instruction, config, tile)),
                    together == 1 ? Leaving::kAlone : last_or_not);
        }
      }
    }
  }
  return slots.Time(PipelineDepth(program, config));
}

// Adds the words of a drain for column tiles [first, end), which leave together for each pixel.
// Returns nullopt if the words do not all have the same lead from the first word on.
std::optional<Backlog> DrainTogether(const Instruction& instruction, const Config& config,
                                     const Visit& visit, int32_t first, int32_t end, Slots& slots) {
  std::vector<std::vector<Walk>> tiles;
  for (int32_t tile = first; tile < end; ++tile) {
    tiles.push_back(DrainWalks(instruction.vector, config, visit, tile));
  }
  int64_t period_y = 1, period_x = 1;
  for (const Walk& walk : tiles[0]) {
    period_y = std::max(period_y, BeatPeriod(walk.stream->outer_stride[1], PortOf(walk, config)));
    period_x = std::max(period_x, BeatPeriod(walk.step, PortOf(walk, config)));
  }
  period_y = std::min<int64_t>(period_y, visit.height);
  period_x = std::min<int64_t>(period_x, visit.width);
  bool alike = true;
  std::vector<Backlog> rows;
  for (int64_t y = 0; y < period_y; ++y) {
    const int64_t times = (visit.height - y + period_y - 1) / period_y;
    std::vector<Backlog> row;
    for (int64_t x = 0; x < period_x; ++x) {
      std::vector<WordBeats> block;
      for (int32_t tile = first; tile < end; ++tile) {
        const std::vector<Walk> walks = AtRow(tiles[static_cast<size_t>(tile - first)], y);
        block.push_back(BeatsAt(config, walks, x, ValidColumns(instruction, config, tile)));
        const int64_t lead = slots.lead();
        slots.Add(block.back(), times * ((visit.width - x + period_x - 1) / period_x));
        alike = alike && (lead == 0 || lead == slots.lead());
      }
      row.push_back(BacklogOf(block));
    }
    rows.push_back(Repeated(row, visit.width));
  }
  if (!alike) return std::nullopt;
  return Repeated(rows, visit.height);
}

// Returns the time of the drain of a block whose scale blocks span several words.
VectorTime BlocksDrainTime(const Instruction& instruction, const Config& config,
                           const Visit& visit) {
  Slots slots(config);
  Backlog backlog;
  const int32_t together = DrainColumns(instruction.vector, config);
  const int32_t end = visit.first_column + visit.columns;
  for (int32_t first = visit.first_column; first < end; first += together) {
    const auto tiles =
        DrainTogether(instruction, config, visit, first, std::min(first + together, end), slots);
    if (!tiles) return BoundedDrainTime(instruction, config, visit);
    backlog = backlog.Then(*tiles);
  }
  if (!slots.unhindered()) return BoundedDrainTime(instruction, config, visit);
  slots.Written(backlog);
  return slots.Time(PipelineDepth(instruction.vector, config));
}

// Calls row(pass, beats) for every row of a vector instruction in order, and gap(pass) after each
// pass of a set of rows.
template <typename Row, typename Gap>
void ForEachRow(const VectorProgram& program, const Config& config, Rows& lengths, const Row& row,
                const Gap& gap) {
  const auto& loops = program.outer;
  const int64_t rows = int64_t{loops[0]} * loops[1] * loops[2] * loops[3];
  const int64_t together = program.passes.size() == 1 ? 1 : RowsInFlight(program, config);
  for (int64_t first = 0; first < rows; first += together) {
    for (size_t pass = 0; pass < program.passes.size(); ++pass) {
      for (int64_t r = first; r < std::min(first + together, rows); ++r) {
        OuterIndex outer{};
        int64_t rest = r;
        for (size_t i = kOuterLoops; i-- > 0; rest /= loops[i]) outer[i] = rest % loops[i];
        row(pass, lengths.Of(pass, outer));
      }
      gap(pass);
    }
  }
}

}  // namespace

bool PassReads(const VectorProgram& program, size_t pass, size_t operand) {
  const Pass& p = program.passes[pass];
  if (operand == 0 && p.source == Source::kOperand0) return true;
  return Uses(p.stages, static_cast<Argument>(static_cast<int>(Argument::kOperand0) +
                                              static_cast<int>(operand)));
}

int64_t StreamBeats(const Stream& stream, const Config& config, uint64_t address, int64_t elements,
                    int64_t port_bytes) {
  const int64_t bytes = BytesOf(stream.element, config);
  if (stream.blocks.present) {
    return std::max(BeatsOf(address, elements * bytes, port_bytes),
                    CeilDivide(elements, config.block_size));
  }
  if (stream.element_stride == bytes) return BeatsOf(address, elements * bytes, port_bytes);
  return BeatsOfRun(address, stream.element_stride, stream.element_stride == 0 ? 1 : elements,
                    bytes, port_bytes);
}

int32_t DrainColumns(const VectorProgram& program, const Config& config) {
  return program.output.blocks.present ? std::max(1, config.block_size / config.array_columns) : 1;
}

// Returns the cycles that a word takes through the first `count` stages.
int64_t StagesLatency(size_t count, const Config& config) {
  int64_t cycles = 0;
  for (size_t i = 0; i < count; ++i) {
    const int stage = static_cast<int>(i);
    const bool is_long = HasStageFor(StageOp::kFunction, stage, config) ||
                         HasStageFor(StageOp::kDivide, stage, config);
    cycles += config.vector_stage_latency + (is_long ? config.vector_function_latency : 0);
  }
  return cycles;
}

int64_t LaneDepth(const VectorProgram& program, const Config& config) {
  size_t stages = 0;
  for (const Pass& pass : program.passes) stages = std::max(stages, pass.stages.size());
  // One more stage converts operands to numbers, and one numbers to output elements.
  return StagesLatency(stages, config) +
         2 * (int64_t{config.vector_stage_latency} + config.vector_convert_latency);
}

int64_t PipelineDepth(const VectorProgram& program, const Config& config) {
  const int64_t depth = LaneDepth(program, config);
  if (!program.output.blocks.present) return depth;
  // After the last word of a scale block, a tree over the lanes finds the greatest magnitude, and
  // one more stage computes the scale.
  const int64_t lanes = std::min(config.lanes(), config.block_size);
  const int64_t levels = CeilLog2(lanes);
  return depth + config.vector_stage_latency * (levels + 1);
}

bool ReadsMemory(const VectorProgram& program) {
  for (size_t p = 0; p < program.passes.size(); ++p) {
    for (size_t i = 0; i < program.operands.size(); ++i) {
      if (PassReads(program, p, i)) return true;
    }
  }
  return false;
}

int64_t WindowPlaces(int64_t output, int32_t window, int32_t stride, int32_t dilation, int32_t pad,
                     int32_t limit) {
  int64_t inside = 0;
  for (int32_t k = 0; k < window; ++k) {
    const int64_t at = output * stride - pad + int64_t{k} * dilation;
    inside += at >= 0 && at < limit ? 1 : 0;
  }
  return inside;
}

int64_t PassGap(const VectorProgram& program, const Config& config, int pass) {
  if (program.passes.size() < 2) return 0;
  const Pass& p = program.passes[static_cast<size_t>(pass)];
  int64_t gap = PipelineDepth(program, config);
  if (p.reduce != Reduce::kNone) {
    const int64_t levels = CeilLog2(config.lanes());
    gap += config.vector_stage_latency * levels + StagesLatency(p.scalar_stages.size(), config);
  }
  return gap;
}

int64_t RowsInFlight(const VectorProgram& program, const Config& config) {
  const int64_t words = CeilDivide(program.length, config.lanes());
  return std::clamp<int64_t>(config.vector_row_buffer_words / words, 1,
                             config.vector_rows_in_flight);
}

VectorTime DrainTime(const Instruction& instruction, const Config& config, const Visit& visit) {
  const VectorProgram& program = instruction.vector;
  if (DrainColumns(program, config) > 1) return BlocksDrainTime(instruction, config, visit);
  Slots slots(config);
  WordBeats last;
  for (int32_t tile = visit.first_column; tile < visit.first_column + visit.columns; ++tile) {
    const int64_t elements = ValidColumns(instruction, config, tile);
    const std::vector<Walk> row = DrainWalks(program, config, visit, tile);
    int64_t period = 1;  // of the rows of pixels
    for (const Walk& walk : row) {
      period = std::max(period, BeatPeriod(walk.stream->outer_stride[1], PortOf(walk, config)));
    }
    period = std::min<int64_t>(period, visit.height);
    for (int64_t y = 0; y < period; ++y) {
      const WordBeats end = AddRun(config, AtRow(row, y), visit.width, elements,
                                   (visit.height - y + period - 1) / period, slots);
      if (y == (visit.height - 1) % period) last = end;
    }
  }
  if (!slots.unhindered()) return BoundedDrainTime(instruction, config, visit);
  slots.Written(last);
  return slots.Time(PipelineDepth(program, config));
}

VectorTime VectorInstructionTime(const VectorProgram& program, const Config& config) {
  const auto gap_of = [&](size_t pass) { return PassGap(program, config, static_cast<int>(pass)); };
  const int64_t depth = PipelineDepth(program, config);
  Rows lengths(program, config);
  Slots slots(config);
  ForEachRow(
      program, config, lengths,
      [&](size_t pass, const RowBeats& row) {
        slots.Add(row.slots, row.lead);
        if (program.passes[pass].to_memory) slots.Written(row.words.back());
      },
      [&](size_t pass) { slots.Gap(gap_of(pass)); });
  const int64_t together = DrainColumns(program, config);  // words of a scale block
  if (together == 1 && slots.unhindered()) return slots.Time(depth);

  BoundedSlots bounded(config);
  ForEachRow(
      program, config, lengths,
      [&](size_t pass, const RowBeats& row) {
        for (size_t i = 0; i < row.words.size(); ++i) {
          const bool last =
              (static_cast<int64_t>(i) + 1) % together == 0 || i + 1 == row.words.size();
          bounded.Add(row.words[i], !program.passes[pass].to_memory ? Leaving::kNowhere
                                    : together == 1                 ? Leaving::kAlone
                                    : last                          ? Leaving::kLastOfBlock
                                                                    : Leaving::kInBlock);
        }
      },
      [&](size_t pass) { bounded.Gap(gap_of(pass)); });
  return bounded.Time(depth);
}

int64_t LeastWordCycles(const VectorProgram& program, const Config& config, int pass,
                        int64_t elements) {
  const size_t p = static_cast<size_t>(pass);
  WordBeats word;
  for (const Walk& walk : WalksOf(program, p, {}, 0)) {
    const Stream& stream = *walk.stream;
    const int64_t bytes = BytesOf(stream.element, config);
    const bool dense = stream.blocks.present || stream.element_stride == bytes;
    int64_t beats = LeastBeats(dense ? elements * bytes : bytes, PortOf(walk, config));
    if (!dense && stream.element_stride != 0) beats *= elements;
    (walk.output ? word.output : word.operands) += beats;
  }
  return word.slot();
}

}  // namespace kiln::systolic
