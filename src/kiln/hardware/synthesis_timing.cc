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

// The procedures of the timing script. OpenSTA deletes paths when it looks for others, so that a
// path is kept as its slack, the pins at its ends, and the names of the instances around its cells.
constexpr const char* kProcedures = R"(proc facts {path} {
  set around [dict create]
  foreach point [get_property $path points] {
    # A pin is named after the instances around its cell, the cell and the port.
    set names [split [get_full_name [get_property $point pin]] /]
    if {[llength $names] > 1} { dict set around [join [lrange $names 0 end-2] /] 1 }
  }
  return [list [get_property $path slack] [get_property $path startpoint] \
      [get_property $path endpoint] [dict keys $around]]
}
proc paths {args} {
  set found {}
  foreach path [find_timing_paths -path_delay max {*}$args] { lappend found [facts $path] }
  return $found
}
proc slack {path} { return [lindex $path 0] }
# Returns the pin at an end of a path, 1 or 2.
proc pin_at {end path} { return [lindex $path $end] }
# Returns the nets that a cell drives.
proc driven {cell} {
  set nets {}
  set pins [$cell pin_iterator]
  while {[$pins has_next]} {
    set pin [$pins next]
    if {[$pin is_driver] && [$pin net] != "NULL"} { lappend nets [$pin net] }
  }
  $pins finish
  return $nets
}
)";

// The procedures of a design without clock gates.
constexpr const char* kWithoutGates = R"(proc clocked_by {cell} { return $cell }
proc from_register {path} { return $path }
proc borrows {path} { return 0 }
proc worst_path {} { return [lindex [paths] 0] }
)";

// Returns the procedures of a design with clock gates.
//
// Paths to the latches are a group of their own, as paths from there to the gates are. A path that
// ends before its latch opens has a positive slack, and the one to the gate begins at the opening:
// the slack of both together is their sum, or twice the second slack if that is less, because the
// second path has half the period. A path that ends while the latch is transparent has slack 0, and
// the one to the gate has the slack of both. One that ends after the latch closes has a negative
// slack.
std::string WithGates(const ClockGate& gate) {
  return fmt::format(
      R"(set latches [dict create]
set data_pins [all_registers -level_sensitive -data_pins]
foreach pin $data_pins {{ dict set latches [get_full_name $pin] 1 }}
if {{$data_pins != ""}} {{ group_path -name latches -to $data_pins }}
# A gate whose cells have no timing from the clock to the output hides the registers behind it.
if {{$ports != ""}} {{ check_setup -no_clock }}
# Returns a register behind a clock gate, for a cell of the gate; else the cell.
proc clocked_by {{cell}} {{
  while {{[lsearch -exact {{{0} {1}}} [get_property $cell ref_name]] >= 0}} {{
    set next ""
    foreach net [driven $cell] {{
      set pins [$net pin_iterator]
      while {{[$pins has_next]}} {{
        set pin [$pins next]
        if {{![$pin is_driver]}} {{ set next [$pin instance] }}
      }}
      $pins finish
    }}
    if {{$next == ""}} {{ break }}
    set cell $next
  }}
  return $cell
}}
# Returns the name of the data pin of the latch at which a path begins; else "".
proc latch_before {{path}} {{
  foreach cell [get_cells -quiet -of_objects [pin_at 1 $path]] {{
    set data "[get_full_name $cell]/{2}"
    if {{[dict exists $::latches $data]}} {{ return $data }}
  }}
  return ""
}}
# Returns the path to the latch at which a path begins; else the path.
proc from_register {{path}} {{
  set data [latch_before $path]
  if {{$data == ""}} {{ return $path }}
  set before [lindex [paths -to [get_pins $data]] 0]
  return [expr {{$before == "" ? $path : $before}}]
}}
proc borrows {{path}} {{
  return [expr {{[slack $path] >= 0 && [dict exists $::latches [get_full_name [pin_at 2 $path]]]}}]
}}
proc least {{path before}} {{
  return [expr {{$before == "" || [slack $path] < [slack $before] ? $path : $before}}]
}}
proc worst_path {{}} {{
  set worst ""
  set latch ""
  set gate ""
  foreach path [paths] {{
    if {{[borrows $path]}} {{
      set latch [least $path $latch]
    }} elseif {{[latch_before $path] != ""}} {{
      set gate [least $path $gate]
    }} else {{
      set worst [least $path $worst]
    }}
  }}
  if {{$gate == ""}} {{ return $worst }}
  set whole [from_register $gate]
  set sum [slack $gate]
  if {{$latch != "" && [slack $latch] > 0}} {{
    set whole $latch
    set sum [expr {{min($sum + [slack $latch], 2 * $sum)}}]
  }}
  return [least [lreplace $whole 0 0 $sum] $worst]
}}
)",
      gate.gate, gate.latch, gate.latch_data);
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
{9}set path [worst_path]
if {{$path == ""}} {{ puts "kiln_no_path"; exit }}
puts "kiln_slack [slack $path]"
foreach {{key end}} {{startpoint 1 endpoint 2}} {{
  set pin [pin_at $end $path]
  puts "kiln_$key [get_full_name $pin]"
  foreach cell [get_cells -quiet -of_objects $pin] {{
    if {{[clocked_by $cell] != $cell}} {{ puts "kiln_gate_$key" }}
    foreach net [driven [clocked_by $cell]] {{ puts "kiln_net_$key [get_full_name $net]" }}
  }}
}}
set late [dict create]
foreach path [paths -group_count {7} -slack_max 0] {{
  if {{[borrows $path]}} {{ continue }}
  foreach around [lindex [from_register $path] 3] {{ dict set late $around 1 }}
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
      setup.memories.empty() ? "" : fmt::format("read_liberty {}\n", setup.memories),
      kProcedures + (setup.clock_gate == nullptr ? kWithoutGates : WithGates(*setup.clock_gate)));
  constexpr const char* kScript = "time.tcl";
  const std::filesystem::path log = setup.work / "time.log";
  KILN_RETURN_IF_ERROR(WriteFile(setup.work / kScript, script));
  KILN_RETURN_IF_ERROR(RunProgram({"sta", "-no_splash", "-exit", kScript}, log, setup.work));
  KILN_ASSIGN_OR_RETURN(const std::string text, ReadFile(log));
  return ParseTiming(text, setup.period_ns);
}

}  // namespace kiln::hardware
