// The rows of the table of design-point keys.

#include "kiln/targets/cgra/config/keys.h"

#include "absl/strings/numbers.h"
#include "kiln/support/excerpt.h"
namespace kiln::cgra {

using hardware::Boolean;
using hardware::Choice;
using hardware::Integer;
using hardware::KeyTable;
using hardware::KeyType;
using hardware::PowerOfTwo;
using hardware::Real;
using hardware::Text;

namespace {

// Returns the type of the wait limit: a number of cycles, or `any`.
KeyType<Config> WaitLimit() {
  constexpr int kMost = 64, kDefaultWaitLimit = 15;
  return {.name = "integer",
          .values = "0 to 64, any",
          .read =
              [=](const YamlMap& map, std::string_view key, Config* c) {
                // Hardware needs a number, so a machine that says nothing has one.
                std::string text = fmt::format("{}", kDefaultWaitLimit);
                map.String(key, &text);
                c->wait_limit = text == "any" ? -1 : kDefaultWaitLimit;
                if (text == "any") return true;
                int64_t number = 0;
                if (!absl::SimpleAtoi(text, &number)) {
                  map.FailValue(key, QuotedExcerpt(text) + " is not a number",
                                "a whole number from 0 to 64, or any");
                  return true;
                }
                map.Int(key, &c->wait_limit, 0, kMost);
                return true;
              },
          .print =
              [](const Config& c) {
                return c.wait_limit < 0 ? std::string("any") : fmt::format("{}", c.wait_limit);
              },
          .rtl = [](const Config& c) { return fmt::format("{}", c.wait_limit); }};
}

}  // namespace

const KeyTable<Config>& Keys() {
  static const KeyTable<Config> table(
      "cgra",
      {
          {.name = "name",
           .type = Text(&Config::name),
           .required = true,
           .rtl = {},
           .help = "the name of the design point in reports"},
          {.name = "rows",
           .type = Integer(&Config::rows, 1, 16),
           .unit = "tiles",
           .rtl = {},
           .help = "rows of the array; the Streaming Engine has one"},
          {.name = "columns",
           .type = Integer(&Config::columns, 1, 64),
           .unit = "tiles",
           .rtl = {{"TILES"}},
           .help = "tiles of a row"},
          {.name = "reach",
           .type = Integer(&Config::reach, 1, 4),
           .unit = "tiles",
           .rtl = {{"REACH"}},
           .help = "longest link along a row or a column"},
          {.name = "hop_cycles",
           .type = Integer(&Config::hop_cycles, 0, 8),
           .unit = "cycles",
           .rtl = {},
           .help = "what a link takes for each tile of its distance"},
          {.name = "pipeline_latency",
           .type = Integer(&Config::pipeline_latency, 1, 16),
           .unit = "cycles",
           .rtl = {},
           .help = "from an instruction's issue to its result"},
          {.name = "lanes",
           .type = PowerOfTwo(&Config::lanes, 2, 64),
           .unit = "elements",
           .rtl = {{"LANES"}},
           .help = "elements of 32 bits that an instruction computes at once"},
          {.name = "memory_depth",
           .type = PowerOfTwo(&Config::memory_depth, 16, 4096),
           .unit = "entries",
           .rtl = {{"MEMORY_DEPTH"}},
           .help = "entries of each of a tile's two memories"},
          {.name = "instruction_depth",
           .type = PowerOfTwo(&Config::instruction_depth, 2, 64),
           .unit = "entries",
           .rtl = {{"INSTRUCTION_DEPTH"}},
           .help = "entries of a tile's instruction RAM"},
          {.name = "spoke_depth",
           .type = PowerOfTwo(&Config::spoke_depth, 2, 64),
           .unit = "entries",
           .rtl = {{"SPOKE_DEPTH"}},
           .help = "entries of a tile's spoke RAM: the longest initiation interval"},
          {.name = "ring_entries",
           .type = PowerOfTwo(&Config::ring_entries, 2, 256),
           .unit = "threads",
           .rtl = {{"RING"}},
           .help = "threads whose inputs the tile memories hold at a time"},
          {.name = "output_depth",
           .type = PowerOfTwo(&Config::output_depth, 4, 256),
           .unit = "entries",
           .rtl = {{"OUTPUT_DEPTH"}},
           .help = "entries of the queue behind each output"},
          {.name = "outputs",
           .type = Integer(&Config::outputs, 1, 8),
           .unit = "outputs",
           .rtl = {{"OUTPUTS"}},
           .help = "memory interfaces by which results leave the array"},
          {.name = "floats",
           .type = Boolean(&Config::floats),
           .rtl = {{"FLOATS"}},
           .help = "lanes have units for binary32, too"},
          {.name = "distance",
           .type = Choice(&Config::relaxed_distance, "strict", "relaxed"),
           .rtl = {},
           .help = "strict: values go farther than `reach` by pass-through instructions only; "
                   "relaxed: any distance, at `hop_cycles` a tile"},
          {.name = "feedback",
           .type = Boolean(&Config::feedback),
           .rtl = {},
           .help = "an instruction may use a result of its own tile"},
          {.name = "wait_limit",
           .type = WaitLimit(),
           .unit = "cycles",
           .by_default = "15",
           .rtl = {{"WAIT_LIMIT"}},
           .help = "how long an operand can wait for its instruction; any: no limit, for `kiln "
                   "cgra map` only, because hardware needs a number"},
          {.name = "issue",
           .type = Choice(&Config::issue_later, "latest", "later"),
           .rtl = {},
           .help =
               "latest: an instruction issues when its last operand arrives; later: it may also "
               "wait with all its operands"},
          {.name = "flow_starts",
           .type = Choice(&Config::every_source_starts, "first", "all"),
           .rtl = {},
           .help = "instructions that may not share a tile: the first of each flow, or all without "
                   "producers"},
          {.name = "tile_period",
           .type = Integer(&Config::tile_period, 0, 64),
           .unit = "cycles",
           .rtl = {},
           .help =
               "after how many cycles the spoke counters of tiles start again, a divisor of the "
               "initiation interval; 0: the initiation interval"},
          {.name = "async_latency",
           .type = Integer(&Config::async_latency, 0, 4096),
           .unit = "cycles",
           .rtl = {},
           .help =
               "what a message of the asynchronous fabric takes; `kiln cgra simulate` counts it"},
          {.name = "fan_out",
           .type = Choice(&Config::one_output, "several", "one"),
           .rtl = {},
           .help = "links that a result may leave by"},
          {.name = "links",
           .type = Choice(&Config::shared_links, "exclusive", "shared"),
           .rtl = {},
           .help = "exclusive: a link carries one value in a cycle"},
          {.name = "source_periods",
           .type = Choice(&Config::later_periods, "first", "any"),
           .rtl = {},
           .help = "periods of a thread in which instructions without producers may issue"},
          {.name = "loads",
           .type = Choice(&Config::asynchronous_loads, "synchronous", "asynchronous"),
           .rtl = {},
           .help = "asynchronous: loads and loop control end a flow, their results begin another; "
                   "synchronous: they take the pipeline's latency"},
          {.name = "loops",
           .type = Choice(&Config::cut_loops, "synchronous", "asynchronous"),
           .rtl = {},
           .help = "how values go to later threads: over links in time, or as loads do"},
          {.name = "copies",
           .type = Boolean(&Config::copies),
           .rtl = {},
           .help = "read-only variables may be held by several tiles"},
          {.name = "clock_mhz",
           .type = Real(&Config::clock_mhz, 0, 1e5),
           .unit = "MHz",
           .rtl = {},
           .help = "turns cycles into seconds; 0: not stated"},
      });
  return table;
}

}  // namespace kiln::cgra
