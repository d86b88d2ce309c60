// Writes what the README says of launches.

#include "kiln/targets/binary/launch_guide.h"

#include <string>
#include <utility>

#include "fmt/format.h"
#include "kiln/targets/binary/isa/stream.h"
#include "kiln/targets/binary/run_network.h"
#include "kiln/targets/lower/value_codes.h"
#include "kiln/targets/run/view_items.h"

namespace kiln::binary {
namespace {

constexpr char kText[] =
    "These launches are in `sample/input0.bin`, one after the other: \"offset\" is the first byte "
    "of each. A launch is the beats that load its program (\"load beats\"), a beat that starts the "
    "run (2 in its low 64 bits), and a record of \"record beats\" beats for each of \"pixels\" "
    "pixels: \"height\" rows of \"width\" pixels, rows first. \"beats out\" counts the beats that "
    "all of its stages send.\n\n"
    "Codes of a record that no item of \"sends\" names are 0. Pixels are counted from (y, x) = "
    "(0, 0). A tensor's last axis is its channels, the one before it x, and all others together "
    "are y. A stage sends its pixels rows first, each as beats in which column c has channel "
    "c, c + columns and so on; channels that no item of \"receives\" names are ignored. "
    "`driver/kiln_tensors.h` has the table as C constants, such as KILN_LAUNCH_0_PIXELS.";

// Returns a value's name, format and meaning.
std::string TextOfValue(const Value& value) {
  return fmt::format("`{}` ({})", hardware::SampleName(value.name()), CodesText(value));
}

// Returns "channel 3" or "channels 3 to 6".
std::string RangeText(const char* what, int64_t first, int64_t count) {
  if (count == 1) return fmt::format("{} {}", what, first);
  return fmt::format("{}s {} to {}", what, first, first + count - 1);
}

// Returns ", each code plus 128", or nothing for 0.
std::string ShiftText(int64_t shift) {
  if (shift == 0) return "";
  return fmt::format(", each code {} {}", shift < 0 ? "less" : "plus", shift < 0 ? -shift : shift);
}

// Returns "y", "y + 1" or "y - 2".
std::string Moved(const char* name, int64_t by) {
  if (by == 0) return name;
  return fmt::format("{} {} {}", name, by < 0 ? '-' : '+', by < 0 ? -by : by);
}

std::string RecordText(const Launch& launch, const RecordPart& part) {
  const StageProgram& first = launch.program.stages[0];
  std::string text = fmt::format(
      "{} of each record: {} of {}", RangeText("Code", part.first_code, part.channels),
      RangeText("channel", part.first_channel, part.channels), TextOfValue(*part.value));
  if (ReadsRows(first, part.value->shape())) {
    text += fmt::format(", of row {}; its rows are counted over all axes but the last",
                        Moved("x", part.x));
  } else {
    text += fmt::format(" at ({}, {})", Moved("y", part.y), Moved("x", part.x));
  }
  return text + ShiftText(-int64_t{part.shift}) +
         fmt::format("; {} where the tensor has no such pixel", part.outside);
}

std::string ResultText(const Launch& launch, const ResultPart& part) {
  const StageProgram& s = launch.program.stages[static_cast<size_t>(part.stage)];
  std::string text = fmt::format(
      "Stage {}: {} x {} pixels of {} beats, {} columns. Its {} go to {} of {} at ({}, {})",
      part.stage, s.out_height, s.out_width, s.list, launch.program.config.columns(part.stage),
      RangeText("channel", 0, part.channels),
      RangeText("channel", part.first_channel, part.channels), TextOfValue(*part.value), "y",
      Moved("x", part.x));
  if (s.out_height == 1) text += ", where a map of several rows has its pixels rows first along x";
  return text + ShiftText(part.shift);
}

}  // namespace

void DescribeLaunches(const NetworkProgram& program, const std::vector<HeldLaunch>& held,
                      hardware::DesignGuide* guide) {
  std::vector<const Value*> read;
  guide->launches_text = kText;
  for (const HeldLaunch& at : held) {
    const Launch& launch = program.launches()[at.kernel][at.launch];
    const BlockProgram& block = launch.program;
    const KernelInfo& kernel = program.kernels()[at.kernel];
    hardware::LaunchGuide& text = guide->launches.emplace_back();
    text.kernel = kernel.name;
    text.operation = kernel.operation;
    const auto count = [](int64_t number) { return static_cast<uint64_t>(number); };
    text.numbers = {{"offset", at.offset},
                    {"load_beats", count(LoadBeats(block))},
                    {"height", count(block.stages[0].height)},
                    {"width", count(block.stages[0].width)},
                    {"pixels", count(int64_t{block.stages[0].height} * block.stages[0].width)},
                    {"record_beats", count(block.record_beats)},
                    {"beats_out", count(BeatsOut(block))}};
    for (const RecordPart& part : launch.records) {
      text.reads.push_back(RecordText(launch, part) + ".");
      read.push_back(part.value);
    }
    for (const ResultPart& part : launch.results)
      text.writes.push_back(ResultText(launch, part) + ".");
  }
  guide->views = ViewItems(program.views(), std::move(read));
}

}  // namespace kiln::binary
