// Writes the OpenSTA script, and omits instances of large designs from the netlist.

#include "kiln/hardware/synthesis_timing.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "kiln/hardware/synthesis_instances.h"
#include "kiln/support/file.h"
#include "kiln/support/process.h"

namespace kiln::hardware {
namespace {

// The prefix of the modules of omitted instances. No such module exists, so that OpenSTA treats
// them as black boxes.
constexpr const char* kNotTimed = "kiln_not_timed$";

// Compares names with the numbers in them by value: stage[2] precedes stage[10].
bool StandsBefore(std::string_view x, std::string_view y) {
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  const auto number = [&is_digit](std::string_view* name) {
    size_t end = 0;
    while (end < name->size() && is_digit((*name)[end])) ++end;
    std::string_view digits = name->substr(0, end);
    name->remove_prefix(end);
    while (digits.size() > 1 && digits.front() == '0') digits.remove_prefix(1);
    return std::make_pair(digits.size(), digits);
  };
  while (!x.empty() && !y.empty()) {
    if (is_digit(x.front()) && is_digit(y.front())) {
      const auto of_x = number(&x), of_y = number(&y);
      if (of_x != of_y) return of_x < of_y;
    } else {
      if (x.front() != y.front()) return x.front() < y.front();
      x.remove_prefix(1);
      y.remove_prefix(1);
    }
  }
  return x.size() < y.size();
}

}  // namespace

std::set<std::pair<std::string, std::string>> ModulesLeftOut(const NetlistStatistics& statistics,
                                                             const std::string& top) {
  std::map<std::string, int64_t> known;
  const std::function<int64_t(const std::string&)> cells_of =
      [&](const std::string& module) -> int64_t {
    if (!statistics.contains(module)) return 1;
    if (const auto at = known.find(module); at != known.end()) return at->second;
    int64_t sum = 0;
    for (const auto& [cell, count] : statistics.at(module).cells) sum += count * cells_of(cell);
    return known[module] = sum;
  };
  std::set<std::pair<std::string, std::string>> left_out;
  if (cells_of(top) <= kTimedCells) return left_out;
  for (const auto& [around, counts] : statistics) {
    for (const auto& [cell, count] : counts.cells) {
      if (count > kTimedInstances && cells_of(cell) > kLeftOutCells) left_out.emplace(around, cell);
    }
  }
  return left_out;
}

std::string LeaveInstancesOut(const std::string& netlist, const std::set<std::string>& modules,
                              int64_t* count) {
  std::vector<NetlistPlace> out;
  for (const std::string& module : modules) {
    std::vector<NetlistPlace> places = PlacesOf(netlist, module);
    std::sort(places.begin(), places.end(), [](const NetlistPlace& x, const NetlistPlace& y) {
      return StandsBefore(x.instance, y.instance);
    });
    // Keeps the first kTimedInstances - 1 and the last one.
    for (size_t i = kTimedInstances - 1; i + 1 < places.size(); ++i) out.push_back(places[i]);
  }
  *count += static_cast<int64_t>(out.size());
  std::sort(out.begin(), out.end(),
            [](const NetlistPlace& x, const NetlistPlace& y) { return x.at < y.at; });
  std::string text;
  size_t at = 0;
  for (const NetlistPlace& place : out) {
    text.append(netlist, at, place.at - at).append("\\").append(kNotTimed);
    at = place.at + 1;  // after its backslash
  }
  return text.append(netlist, at);
}

StatusOr<Timing> FindWorstPath(const TimingSetup& setup) {
  // Without the clock port, the clock is virtual and times paths from inputs to outputs.
  const std::string script = fmt::format(
      R"(read_liberty {0}
{8}set_cmd_units -time ns
read_verilog {1}
link_design {2}
set ports [get_ports -quiet {3}]
if {{$ports == ""}} {{ create_clock -name clock -period {4} }} else {{ create_clock -name clock -period {4} $ports }}
set_input_delay 0 -clock clock [all_inputs]
set_output_delay 0 -clock clock [all_outputs]
set_driving_cell -lib_cell {5} [all_inputs]
set_load {6} [all_outputs]
set path [lindex [find_timing_paths -path_delay max] 0]
if {{$path == ""}} {{ puts "kiln_no_path"; exit }}
puts "kiln_slack [get_property $path slack]"
foreach end {{startpoint endpoint}} {{
  set pin [get_property $path $end]
  puts "kiln_$end [get_full_name $pin]"
  foreach cell [get_cells -quiet -of_objects $pin] {{
    set pins [$cell pin_iterator]
    while {{[$pins has_next]}} {{
      set pin [$pins next]
      if {{[$pin is_driver] && [$pin net] != "NULL"}} {{ puts "kiln_net_$end [get_full_name [$pin net]]" }}
    }}
    $pins finish
  }}
}}
set late [dict create]
foreach path [find_timing_paths -path_delay max -group_count {7} -slack_max 0] {{
  foreach point [get_property $path points] {{
    # A pin is named after the instances around its cell, the cell and the port.
    set names [split [get_full_name [get_property $point pin]] /]
    if {{[llength $names] > 1}} {{ dict set late [join [lrange $names 0 end-2] /] 1 }}
  }}
}}
foreach around [dict keys $late] {{
  set module {2}
  if {{$around != ""}} {{ set module [get_property [get_cells $around] ref_name] }}
  puts "kiln_late $module"
}}
exit
)",
      setup.liberty, setup.netlist, setup.top, setup.clock, setup.period_ns, setup.driver,
      setup.load, kLatePaths,
      setup.memories.empty() ? "" : fmt::format("read_liberty {}\n", setup.memories));
  constexpr const char* kScript = "time.tcl";
  const std::filesystem::path log = setup.work / "time.log";
  KILN_RETURN_IF_ERROR(WriteFile(setup.work / kScript, script));
  KILN_RETURN_IF_ERROR(RunProgram({"sta", "-no_splash", "-exit", kScript}, log, setup.work));
  KILN_ASSIGN_OR_RETURN(const std::string text, ReadFile(log));
  return ParseTiming(text, setup.period_ns);
}

}  // namespace kiln::hardware
