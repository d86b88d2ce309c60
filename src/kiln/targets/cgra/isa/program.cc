// Checks programs, and writes the streams that load and run them.

#include "kiln/targets/cgra/isa/program.h"

#include <algorithm>

#include "fmt/format.h"
#include "kiln/support/check.h"
#include "kiln/support/excerpt.h"
#include "kiln/targets/cgra/isa/derived.h"
#include "kiln/targets/cgra/isa/stream.h"

namespace kiln::cgra {
namespace {

constexpr int kMostDeliveries = 255;  // of a thread: 8 bits of a run's header
constexpr int kMostLatency = 65535;   // cycles: 16 bits of it
// Cycles from issue to result of the tiles that are built.
int BuiltLatency(const Config& config) { return config.floats ? 5 : 3; }

Status Expect(bool holds, std::string_view key, const std::string& is, const std::string& right) {
  if (holds) return OkStatus();
  return ErrorAt("", fmt::format("key '{}'", key),
                 fmt::format("the machine that Kiln builds cannot have {}", is), right);
}

Status CheckTile(const CgraProgram& program, int tile) {
  const TileProgram& at = program.tiles[static_cast<size_t>(tile)];
  const Config& config = program.config;
  if (std::ssize(at.spokes) != program.interval || std::ssize(at.names) != program.interval) {
    return ErrorAt("", fmt::format("tile {}", tile),
                   fmt::format("it has {} spoke entries", at.spokes.size()),
                   fmt::format("one for each of the {} slots", program.interval));
  }
  if (std::ssize(at.instructions) > config.instruction_depth) {
    return ErrorAt("", fmt::format("tile {}", tile),
                   fmt::format("it has {} instructions", at.instructions.size()),
                   fmt::format("at most 'instruction_depth', {}", config.instruction_depth));
  }
  for (size_t i = 0; i < at.instructions.size(); ++i) {
    KILN_RETURN_IF_ERROR(
        Check(at.instructions[i], config, fmt::format("tile {}, instruction {}", tile, i)));
  }
  for (size_t slot = 0; slot < at.spokes.size(); ++slot) {
    const std::string place = fmt::format("tile {}, slot {}", tile, slot);
    const SpokeEntry& spoke = at.spokes[slot];
    KILN_RETURN_IF_ERROR(Check(spoke, config, place));
    if (!spoke.valid) continue;
    if (spoke.instruction >= std::ssize(at.instructions)) {
      return ErrorAt("", place, fmt::format("it names instruction {}", spoke.instruction),
                     fmt::format("one of the tile's {}", at.instructions.size()));
    }
    for (int link = 0; link < LinksOf(config); ++link) {
      const int to = tile + OffsetOf(config, link);
      if ((spoke.links >> link & 1) != 0 && (to < 0 || to >= config.tiles())) {
        return ErrorAt("", place, fmt::format("it drives link {}, to tile {}", link, to),
                       fmt::format("links to tiles from 0 to {}", config.tiles() - 1));
      }
    }
  }
  return OkStatus();
}

Status CheckDeliveries(const CgraProgram& program) {
  if (std::ssize(program.deliveries) > kMostDeliveries) {
    return ErrorAt("", "deliveries", fmt::format("a thread has {}", program.deliveries.size()),
                   fmt::format("at most {}", kMostDeliveries));
  }
  int beats = 0;
  for (size_t i = 0; i < program.deliveries.size(); ++i) {
    const std::string place = fmt::format("delivery {}", i);
    KILN_RETURN_IF_ERROR(Check(program.deliveries[i], program.config, place));
    if (i == 0 && program.deliveries[i].same_beat) {
      return ErrorAt("", place, "it takes the beat of the one before it", "a beat of its own");
    }
    beats += program.deliveries[i].same_beat ? 0 : 1;
  }
  if (beats != std::ssize(program.beats)) {
    return ErrorAt("", "beats", fmt::format("a thread has {}", program.beats.size()),
                   fmt::format("{}, as the deliveries take", beats));
  }
  for (const int input : program.beats) {
    if (input < 0 || input >= std::ssize(program.inputs)) {
      return ErrorAt("", "beats", fmt::format("one holds input {}", input),
                     fmt::format("0 to {}", program.inputs.size() - 1));
    }
  }
  return OkStatus();
}

// Checks that every output has one sender, and that its queue is deep enough for the program not to
// wait for itself.
Status CheckOutputs(const CgraProgram& program) {
  const auto outputs = static_cast<int>(program.outputs.size());
  if (outputs < 1 || outputs > program.config.outputs) {
    return ErrorAt("", "outputs", fmt::format("the program has {}", outputs),
                   fmt::format("1 to {} ('outputs')", program.config.outputs));
  }
  if (std::ssize(program.output_issues) != outputs) {
    return ErrorAt("", "outputs", fmt::format("{} have a cycle", program.output_issues.size()),
                   fmt::format("{}", outputs));
  }
  for (int output = 0; output < outputs; ++output) {
    const int issue = program.output_issues[static_cast<size_t>(output)];
    if (issue >= 0 && issue + program.config.pipeline_latency <= program.latency) continue;
    return ErrorAt("", fmt::format("output {}", output),
                   fmt::format("it issues in cycle {}", issue),
                   fmt::format("0 to {}", program.latency - program.config.pipeline_latency));
  }
  const int depth = LeastOutputDepth(program.config, program.output_issues, program.interval);
  if (depth > program.config.output_depth) {
    return ErrorAt("", "outputs",
                   fmt::format("they are computed so far apart that {} results of one wait for "
                               "another",
                               depth - kReservedEntries),
                   fmt::format("an 'output_depth' of at least {}", depth));
  }
  std::vector<int> named(static_cast<size_t>(program.config.outputs), 0);
  for (const TileProgram& tile : program.tiles) {
    for (const SpokeEntry& spoke : tile.spokes) {
      if (spoke.valid && spoke.output >= 0) ++named[static_cast<size_t>(spoke.output)];
    }
  }
  for (int output = 0; output < program.config.outputs; ++output) {
    const int expected = output < outputs ? 1 : 0;
    if (named[static_cast<size_t>(output)] == expected) continue;
    return ErrorAt("", fmt::format("output {}", output),
                   fmt::format("{} spoke entries name it", named[static_cast<size_t>(output)]),
                   fmt::format("{}", expected));
  }
  return OkStatus();
}

Status CheckContents(const CgraProgram& program) {
  const Config& config = program.config;
  for (const MemoryContent& content : program.contents) {
    if (content.tile < 0 || content.tile >= config.tiles() || content.memory < 0 ||
        content.memory > 1 || content.address < 0 || content.address >= config.memory_depth ||
        std::ssize(content.lanes) != config.lanes) {
      return ErrorAt(
          "", fmt::format("content '{}'", Excerpt(content.name)),
          fmt::format("{} lanes at address {} of memory {} of tile {}", content.lanes.size(),
                      content.address, content.memory, content.tile),
          fmt::format("{} lanes in a memory of {} entries, 0 or 1, of {} tiles", config.lanes,
                      config.memory_depth, config.tiles()));
    }
  }
  return OkStatus();
}

void AppendHeader(const CgraProgram& program, WriteTarget target, int tile, int address,
                  size_t beats, std::vector<uint8_t>* stream) {
  Header header;
  header.target = target;
  header.tile = tile;
  header.address = address;
  header.beats = static_cast<int64_t>(beats);
  AppendWord(program.config, Encode(header), stream);
}

// Returns the end of the contents from `begin` on that lie at consecutive addresses.
size_t RunOf(const std::vector<MemoryContent>& contents, size_t begin) {
  size_t end = begin + 1;
  while (end < contents.size() && contents[end].tile == contents[begin].tile &&
         contents[end].memory == contents[begin].memory &&
         contents[end].address == contents[begin].address + static_cast<int>(end - begin)) {
    ++end;
  }
  return end;
}

}  // namespace

Status CheckStreamMachine(const Config& config) {
  KILN_RETURN_IF_ERROR(
      Expect(config.rows == 1, "rows", fmt::format("{} rows", config.rows),
             "'rows: 1'; a design point of more rows is for `kiln cgra map` only"));
  KILN_RETURN_IF_ERROR(Expect(!config.relaxed_distance, "distance", "links between any two tiles",
                              "'distance: strict'"));
  KILN_RETURN_IF_ERROR(Expect(config.hop_cycles == 1, "hop_cycles",
                              fmt::format("hops of {} cycles", config.hop_cycles),
                              "'hop_cycles: 1'"));
  KILN_RETURN_IF_ERROR(
      Expect(config.pipeline_latency == BuiltLatency(config), "pipeline_latency",
             fmt::format("a latency of {} cycles {} binary32", config.pipeline_latency,
                         config.floats ? "with" : "without"),
             fmt::format("'pipeline_latency: {}'", BuiltLatency(config))));
  KILN_RETURN_IF_ERROR(Expect(config.wait_limit >= 0, "wait_limit", "delay lines of any length",
                              "a number of cycles"));
  return Expect(!config.shared_links, "links", "two values on a link", "'links: exclusive'");
}

// docs/cgra-machine.md states the formula: with r cycles from issue to result, results of an output
// that issues in cycle e wait for an output that issues in cycle l for floor((l + r - 1) / II) -
// ceil((e + r) / II) + 1 threads, and a period begins only while every queue has four free entries.
int LeastOutputDepth(const Config& config, const std::vector<int>& issues, int interval) {
  int waiting = 0;
  for (const int late : issues) {
    for (const int early : issues) {
      // The late result of a thread needs the fabric up to this period, counted from the thread's
      // first; until then, so many threads' early results are in their queue.
      const int period = (late + config.pipeline_latency - 1) / interval;
      const int first = (early + config.pipeline_latency + interval - 1) / interval;
      waiting = std::max(waiting, period - first + 1);
    }
  }
  return waiting + kReservedEntries;
}

Status Check(const CgraProgram& program) {
  const Config& config = program.config;
  KILN_RETURN_IF_ERROR(CheckStreamMachine(config));
  if (program.interval < 1 || program.interval > config.spoke_depth) {
    return ErrorAt("", "initiation interval", fmt::format("it is {}", program.interval),
                   fmt::format("1 to 'spoke_depth', {}", config.spoke_depth));
  }
  if (config.tile_period != 0 && config.tile_period != program.interval) {
    return ErrorAt("", "key 'tile_period'",
                   fmt::format("spoke counters that start again after {} cycles do not repeat a "
                               "schedule of {}",
                               config.tile_period, program.interval),
                   "0, the initiation interval");
  }
  const int most = std::min(kMostLatency, config.ring_entries * program.interval);
  if (program.latency < 1 || program.latency > most) {
    return ErrorAt("", "latency",
                   fmt::format("a thread takes {} cycles; a new one starts every {}, and tile "
                               "memories hold the inputs of {}",
                               program.latency, program.interval, config.ring_entries),
                   fmt::format("1 to {} cycles, or more 'ring_entries'", most));
  }
  if (std::ssize(program.tiles) != config.tiles()) {
    return ErrorAt("", "tiles", fmt::format("the program has {}", program.tiles.size()),
                   fmt::format("{}", config.tiles()));
  }
  for (int tile = 0; tile < config.tiles(); ++tile) {
    KILN_RETURN_IF_ERROR(CheckTile(program, tile));
  }
  KILN_RETURN_IF_ERROR(CheckDeliveries(program));
  KILN_RETURN_IF_ERROR(CheckOutputs(program));
  return CheckContents(program);
}

void AppendLoad(const CgraProgram& program, std::vector<uint8_t>* stream) {
  const Config& config = program.config;
  for (int tile = 0; tile < config.tiles(); ++tile) {
    const TileProgram& at = program.tiles[static_cast<size_t>(tile)];
    AppendHeader(program, WriteTarget::kSpokes, tile, 0, at.spokes.size(), stream);
    for (const SpokeEntry& spoke : at.spokes) AppendWord(config, Encode(spoke), stream);
    if (at.instructions.empty()) continue;
    AppendHeader(program, WriteTarget::kInstructions, tile, 0, 2 * at.instructions.size(), stream);
    for (const InstructionEntry& instruction : at.instructions) {
      for (const uint64_t word : Encode(instruction)) AppendWord(config, word, stream);
    }
  }
  for (size_t begin = 0; begin < program.contents.size();) {
    const size_t end = RunOf(program.contents, begin);
    const MemoryContent& first = program.contents[begin];
    AppendHeader(program, static_cast<WriteTarget>(first.memory), first.tile, first.address,
                 end - begin, stream);
    for (; begin < end; ++begin) AppendLanes(config, program.contents[begin].lanes, stream);
  }
  if (program.deliveries.empty()) return;
  AppendHeader(program, WriteTarget::kDeliveries, 0, 0, program.deliveries.size(), stream);
  for (const Delivery& delivery : program.deliveries) {
    AppendWord(config, Encode(delivery), stream);
  }
}

void AppendWrite(const CgraProgram& program, const MemoryContent& content,
                 std::vector<uint8_t>* stream) {
  AppendHeader(program, static_cast<WriteTarget>(content.memory), content.tile, content.address, 1,
               stream);
  AppendLanes(program.config, content.lanes, stream);
}

void AppendRun(const CgraProgram& program, int64_t threads, int64_t first_sent,
               std::span<const int32_t> data, std::vector<uint8_t>* stream) {
  const auto lanes = static_cast<size_t>(program.config.lanes);
  const size_t inputs = program.inputs.size();
  KILN_CHECK(data.size() == static_cast<size_t>(threads) * inputs * lanes);
  Header header;
  header.command = Command::kRun;
  header.interval = program.interval;
  header.latency = program.latency;
  header.deliveries = static_cast<int>(program.deliveries.size());
  header.outputs = static_cast<int>(program.outputs.size());
  AppendWord(program.config, Encode(header), stream);
  AppendWord(program.config,
             static_cast<uint64_t>(threads) | static_cast<uint64_t>(first_sent) << 32, stream);
  for (size_t thread = 0; thread < static_cast<size_t>(threads); ++thread) {
    for (const int input : program.beats) {
      const size_t at = (thread * inputs + static_cast<size_t>(input)) * lanes;
      AppendLanes(program.config, data.subspan(at, lanes), stream);
    }
  }
}

int64_t LoadBeats(const CgraProgram& program) {
  std::vector<uint8_t> stream;
  AppendLoad(program, &stream);
  return static_cast<int64_t>(stream.size() / BeatBytes(program.config));
}

std::string Print(const CgraProgram& program) {
  std::string text = fmt::format("program {}: interval {}, latency {}\n", program.name,
                                 program.interval, program.latency);
  for (size_t tile = 0; tile < program.tiles.size(); ++tile) {
    const TileProgram& at = program.tiles[tile];
    for (size_t slot = 0; slot < at.spokes.size(); ++slot) {
      if (!at.spokes[slot].valid) continue;
      text += fmt::format("tile {} slot {}: {}  # {}\n", tile, slot, Print(at.spokes[slot]),
                          at.names[slot]);
    }
    for (size_t i = 0; i < at.instructions.size(); ++i) {
      text += fmt::format("tile {} instruction {}: {}\n", tile, i, Print(at.instructions[i]));
    }
  }
  for (const MemoryContent& content : program.contents) {
    const bool same =
        std::ranges::all_of(content.lanes, [&](int32_t lane) { return lane == content.lanes[0]; });
    text += fmt::format("tile {} memory {} address {}: {}  # {}\n", content.tile, content.memory,
                        content.address,
                        same ? fmt::format("{}", content.lanes[0])
                             : fmt::format("{}", fmt::join(content.lanes, " ")),
                        content.name);
  }
  size_t beat = 0;
  for (size_t i = 0; i < program.deliveries.size(); ++i) {
    if (!program.deliveries[i].same_beat) ++beat;
    text += fmt::format("delivery {}: {}  # {}\n", i, Print(program.deliveries[i]),
                        program.inputs[static_cast<size_t>(program.beats[beat - 1])]);
  }
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    text += fmt::format("output {}: {}\n", i, program.outputs[i]);
  }
  return text;
}

}  // namespace kiln::cgra
