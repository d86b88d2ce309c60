// Counts what the stages do, and gives it the energies of hardware/energy.h.

#include "kiln/targets/binary/cost/events.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "fmt/format.h"
#include "kiln/hardware/energy.h"
#include "kiln/hardware/technology.h"
#include "kiln/numerics/format.h"
#include "kiln/support/check.h"
#include "kiln/support/integer.h"
#include "kiln/targets/binary/cost/cost.h"
#include "kiln/targets/binary/isa/derived.h"
#include "kiln/targets/binary/isa/stream.h"
#include "kiln/targets/interface/unit_areas.h"

namespace kiln::binary {
namespace {

// The energies of hardware/energy.h are those of integers of 2 to 32 bits; wider ones are scaled by
// their bits.
constexpr int kWidestInteger = 32;

Format Integer(int64_t bits) {
  return *FindFormat(fmt::format("int{}", std::clamp<int64_t>(bits, 2, kWidestInteger)));
}
double AddBits(int64_t bits) {
  const double scale = static_cast<double>(bits) / static_cast<double>(Integer(bits).bits);
  return hardware::AddEnergy(Integer(bits)) * std::max(scale, 1.0);
}
double MultiplyBits(int64_t a, int64_t b) {
  return hardware::MultiplyEnergy(Integer(a), Integer(b));
}
double Registers(int64_t bits) {
  return static_cast<double>(bits) * hardware::RegisterEnergyPerBit();
}
// Of one word of a memory.
double Memory(int64_t word_bits, int64_t words) {
  return static_cast<double>(word_bits) * hardware::MemoryEnergyPerBit(word_bits * words);
}
double TreeEnergy(int64_t terms, int64_t bits) {
  double energy = 0;
  ForTreeLevels(terms, bits, [&](const TreeLevel& level) {
    energy += static_cast<double>(level.adders) * AddBits(level.bits);
    if (level.registers) energy += Registers(level.sums * level.bits);
  });
  return energy;
}

// One kind of event of a stage: its unit, what it is, which count it has, and its energy in pJ.
struct StageEvent {
  const char* unit;
  std::string name;
  int64_t StageEvents::* count;
  double picojoules;
  int64_t each = 1;  // events of the name for one of the count
};

std::vector<StageEvent> StageEventsOf(const Config& config, int stage, int node_nm) {
  const double scale = hardware::EnergyScale(hardware::kEnergyNode, node_nm);
  const int64_t channels = config.channels(stage), columns = config.columns(stage);
  const int64_t bits = config.activation_bits, digits = config.digits();
  const int64_t tables = config.tables(stage), sum = config.accumulator_bits;
  const int64_t group = config.group, entries = EntriesOf(group), entry = EntryBits(group);
  const int64_t depth = config.column_depth, beat = 8 * config.beat_bytes;
  const double row_word = Memory(channels * bits, config.row_words) +
                          Memory(digits * WordSumBits(channels), config.row_words);
  // Both rounds of tables are registers; an entry of n digits takes one addition for its last.
  const double table = static_cast<double>(2 * (entries - 1)) * AddBits(entry) +
                       Registers(2 * entries * entry + 5 * group);
  const double weights = Memory(tables * group, config.weight_words);
  const double entries_added = Registers(tables * entry) + TreeEnergy(tables, entry);
  // The old sum, threshold and limit are read, the new sum is written.
  const double accumulated = 2 * Memory(sum, kSumBuffers * depth) +
                             Memory(sum, kMostTests * depth) + Memory(sum, depth) +
                             3 * AddBits(sum) + Registers(2 * sum);
  const double requantised = Memory(sum, kSumBuffers * depth) + Memory(kParameterBits, depth) +
                             MultiplyBits(sum, kMultiplierBits) + AddBits(sum + kMultiplierBits) +
                             2 * MultiplyBits(bits + 1, kSkipFactorBits) +
                             2 * AddBits(kSkipAddendBits) +
                             Registers(3 * (sum + kMultiplierBits) + 3 * kSkipAddendBits);
  const double queued = Registers(2 * columns * bits);
  const auto name = [&](const char* event) { return fmt::format("stage {}: {}", stage, event); };
  const auto scaled = [&](double energy) { return energy * scale; };
  return {
      {kRowUnit, name("word written to a row memory"), &StageEvents::words_written,
       scaled(row_word)},
      {kRowUnit, name("word read from a row memory"), &StageEvents::words_read, scaled(row_word)},
      {kWalkUnit, name("sums of the digits of a word"), &StageEvents::words_written,
       scaled(static_cast<double>(digits) * TreeEnergy(channels, 5))},
      {kTableUnit, name(fmt::format("table of {} entries built", entries).c_str()),
       &StageEvents::tables, scaled(table)},
      {kColumnUnit, name("word of weights read"), &StageEvents::look_ups, scaled(weights)},
      {kColumnUnit, name("word of weights written"), &StageEvents::weights_written,
       scaled(weights)},
      {kColumnUnit, name("entry looked up and added"), &StageEvents::look_ups,
       scaled(entries_added) / static_cast<double>(tables), tables},
      {kColumnUnit, name("sum read, added to, tested and written"), &StageEvents::look_ups,
       scaled(accumulated)},
      {kRequantisationUnit, name("result requantised"), &StageEvents::results, scaled(requantised)},
      {kResultUnit, name("word of results forwarded"), &StageEvents::forwarded, scaled(queued)},
      {kResultUnit, name("word of results emitted"), &StageEvents::emitted, scaled(queued)},
      {kResultUnit, name("beat queued for a sum"), &StageEvents::skips,
       scaled(2 * Memory(beat, config.skip_beats))},
  };
}

// Returns how many places of the map the windows of one dimension have together.
int64_t PlacesInside(int outputs, int stride, int kernel, int pad, int size) {
  int64_t places = 0;
  for (int o = 0; o < outputs; ++o) {
    const int begin = o * stride - pad;
    places += std::min(begin + kernel, size) - std::max(begin, 0);
  }
  return places;
}

StageEvents CountStage(const BlockProgram& program, int number) {
  const StageProgram& s = program.stages[static_cast<size_t>(number)];
  const Config& config = program.config;
  const StageLayout layout = LayoutOf(s, config, number);
  const int64_t pixels = int64_t{s.out_height} * s.out_width, steps = std::ssize(s.steps);
  const int64_t channels = s.channels(config, number), words = pixels * s.list;
  StageEvents events;
  events.words_written = int64_t{s.height} * layout.row_pitch;
  events.words_read = steps * layout.chunks *
                      PlacesInside(s.out_height, s.stride, s.kernel_height, s.pad_top, s.height) *
                      PlacesInside(s.out_width, s.stride, s.kernel_width, s.pad_left, s.width);
  events.tables = pixels * steps * layout.rounds * config.tables(number);
  events.look_ups = pixels * steps * layout.rounds * channels;
  events.weights_written = int64_t{s.planes()} * layout.rounds * channels;
  events.results = pixels * channels;
  const bool forwards = static_cast<size_t>(number) + 1 < program.stages.size();
  events.forwarded = forwards ? words : 0;
  events.emitted = s.emits ? words : 0;
  if (s.has_skip) {
    const int64_t begin = s.skip.first_code / config.beat_codes();
    const int64_t end = CeilDivide(s.skip.first_code + channels, config.beat_codes());
    events.skips = pixels * (end - begin);
  }
  return events;
}

}  // namespace

LaunchEvents EventsOf(const BlockProgram& program) {
  LaunchEvents events;
  for (size_t i = 0; i < program.stages.size(); ++i)
    events.stages[i] = CountStage(program, static_cast<int>(i));
  const StageProgram& first = program.stages[0];
  constexpr int64_t kHeader = 1;
  events.beats_in =
      LoadBeats(program) + kHeader + int64_t{first.height} * first.width * program.record_beats;
  events.beats_out = BeatsOut(program);
  return events;
}

std::vector<EventEnergy> EventsOf(const Config& config, int node_nm) {
  std::vector<EventEnergy> energies;
  for (int i = 0; i < config.stages; ++i) {
    for (StageEvent& event : StageEventsOf(config, i, node_nm))
      energies.push_back({std::move(event.name), event.picojoules});
  }
  energies.push_back({"beat of a stream", hardware::kOuterMemoryEnergyPerByte * config.beat_bytes});
  return energies;
}

StatusOr<Energy> EnergyOf(std::span<const BlockProgram* const> launches, const Config& config,
                          int node_nm, std::span<const LookUpShares> shares) {
  KILN_CHECK(shares.empty() || shares.size() == launches.size());
  KILN_ASSIGN_OR_RETURN(Energy energy, EnergyAt(node_nm));
  std::vector<LaunchEvents> counts;
  int64_t beats = 0;
  for (const BlockProgram* program : launches) {
    counts.push_back(EventsOf(*program));
    beats += counts.back().beats_in + counts.back().beats_out;
  }
  for (size_t l = 0; l < shares.size(); ++l) {
    for (size_t i = 0; i < shares[l].size(); ++i) {
      int64_t& look_ups = counts[l].stages[i].look_ups;
      look_ups = std::llround(shares[l][i] * static_cast<double>(look_ups));
    }
  }
  for (int i = 0; i < config.stages; ++i) {
    for (StageEvent& event : StageEventsOf(config, i, node_nm)) {
      int64_t count = 0;
      for (const LaunchEvents& launch : counts)
        count += launch.stages[static_cast<size_t>(i)].*event.count;
      energy.Add(event.unit, std::move(event.name), count * event.each, event.picojoules);
    }
  }
  energy.Add(kOuterMemoryUnit, "beat of a stream", beats,
             hardware::kOuterMemoryEnergyPerByte * config.beat_bytes);
  return energy;
}

}  // namespace kiln::binary
