// Formats synthesis results. FPGAs and cell libraries have different resources and columns.
#include "kiln/report/synthesis_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "kiln/hardware/synthesis_flow.h"
#include "kiln/report/text.h"
#include "kiln/support/json_text.h"

namespace kiln {
namespace {

using hardware::DeviceUse;
using hardware::FpgaDevice;
using hardware::Resources;
using hardware::SynthesisedUnit;
using hardware::SynthesisOptions;
using hardware::SynthesisResult;
using OrderedJson = nlohmann::ordered_json;

// Returns whether a unit has no cells and no memories.
bool IsEmpty(const Resources& r) { return r.cells == 0 && r.memory_bits == 0; }

// The table of units, filled recursively.
class ResourceTable {
 public:
  ResourceTable(const SynthesisResult& result, bool fpga)
      : fpga_(fpga), all_(result.design.resources) {
    table_.Column("unit").Right("instances");
    if (fpga) {
      for (const char* title : {"LUT", "LUT as memory", "FF", "carry", "DSP", "BRAM", "URAM"})
        table_.Right(title);
    } else {
      for (const char* title : {"area um2", "of all", "cells", "flip-flops", "memory bits"})
        table_.Right(title);
    }
    Add(result.design, "");
  }
  std::string ToString() const { return table_.ToString(); }

 private:
  // Adds a unit, its parts, and the resources of the unit that belong to none of its parts.
  void Add(const SynthesisedUnit& unit, const std::string& indent) {
    Row(indent + unit.name, Thousands(unit.instances), unit.resources);
    for (const SynthesisedUnit& part : unit.parts) Add(part, indent + "  ");
    if (!unit.parts.empty() && !IsEmpty(unit.own)) Row(indent + "  between them", "", unit.own);
  }

  void Row(std::string name, std::string instances, const Resources& r) {
    std::vector<std::string> cells = {std::move(name), std::move(instances)};
    if (fpga_) {
      for (const int64_t count : {r.luts, r.lut_memories, r.flip_flops, r.carries, r.dsps}) {
        cells.push_back(Thousands(count));
      }
      cells.push_back(fmt::format("{:g}", r.block_rams));
      cells.push_back(Thousands(r.ultra_rams));
    } else {
      cells.push_back(Thousands(std::llround(r.area)));
      cells.push_back(all_.area > 0 ? Percent(r.area / all_.area) : "-");
      for (const int64_t count : {r.cells, r.flip_flops, r.memory_bits})
        cells.push_back(Thousands(count));
    }
    table_.Row(std::move(cells));
  }

  bool fpga_;
  Resources all_;
  Table table_;
};

// Returns the name of a path's end: the net in the source, followed by its pin, or the pin alone.
std::string EndOf(const std::string& pin, const std::string& net) {
  return net.empty() || net == pin ? pin : fmt::format("{} ({})", net, pin);
}

OrderedJson JsonOf(const Resources& r, bool fpga) {
  if (fpga) {
    return {{"luts", r.luts},
            {"lut_memories", r.lut_memories},
            {"flip_flops", r.flip_flops},
            {"carries", r.carries},
            {"dsps", r.dsps},
            {"block_rams", r.block_rams},
            {"ultra_rams", r.ultra_rams}};
  }
  return {{"area", r.area},
          {"cells", r.cells},
          {"flip_flops", r.flip_flops},
          {"memory_bits", r.memory_bits}};
}

OrderedJson JsonOf(const SynthesisedUnit& unit, bool fpga) {
  OrderedJson json = {{"name", unit.name}, {"instances", unit.instances}};
  json.update(JsonOf(unit.resources, fpga));
  if (unit.parts.empty()) return json;
  json["parts"] = OrderedJson::array();
  for (const SynthesisedUnit& part : unit.parts) json["parts"].push_back(JsonOf(part, fpga));
  json["between_parts"] = JsonOf(unit.own, fpga);
  return json;
}

// Returns what the design takes of a device, and whether it fits.
std::string TextOf(const FpgaDevice& device, const Resources& design) {
  Table table;
  table.Column("device").Right("used").Right("available").Right("share");
  std::vector<std::string_view> lacking;
  for (const DeviceUse& use : UseOf(device, design)) {
    const auto available = static_cast<double>(use.available);
    table.Row({std::string(use.resource),
               use.used == std::floor(use.used) ? Thousands(std::llround(use.used))
                                                : fmt::format("{:.1f}", use.used),
               Thousands(use.available), use.available > 0 ? Percent(use.used / available) : "-"});
    if (!use.fits()) lacking.push_back(use.resource);
  }
  return fmt::format(
      "{}\n{} functions share {}, in pairs of at most five inputs together\n\n"
      "fit      {} {}\n\n",
      table.ToString(), Thousands(design.luts), Counted(hardware::PackedLuts(design), "LUT"),
      device.part,
      lacking.empty() ? "holds the design"
                      : fmt::format("is too small: {}", fmt::join(lacking, ", ")));
}

OrderedJson JsonOf(const FpgaDevice& device, const Resources& design) {
  OrderedJson uses;
  bool fits = true;
  for (const DeviceUse& use : UseOf(device, design)) {
    uses[std::string(use.key)] = {{"used", use.used}, {"available", use.available}};
    fits = fits && use.fits();
  }
  return {{"part", device.part}, {"fits", fits}, {"resources", uses}};
}

}  // namespace

std::string ToText(const SynthesisResult& result, const SynthesisOptions& options) {
  const bool fpga = !options.fpga.empty();
  std::string out = fmt::format("top      {}\n", result.top);
  out += fpga ? fmt::format("FPGA     {}\n\n", options.fpga)
              : fmt::format("library  {}\n\n", result.library);
  out += ResourceTable(result, fpga).ToString() + "\n";
  if (options.clock_gating) {
    out += fmt::format("clocks   {}, for registers of {} or more bits with an enable\n",
                       Counted(result.design.resources.clock_gates, "clock gate"),
                       hardware::kLeastGatedBits);
  }
  if (options.device != nullptr) out += TextOf(*options.device, result.design.resources);
  if (result.timing) {
    const hardware::Timing& t = *result.timing;
    if (t.from.empty()) {
      out += "timing   no path\n";
    } else {
      out += fmt::format("timing   worst slack {:.2f} ns at {:g} MHz; at most {:.1f} MHz\n",
                         t.slack_ns, options.clock_mhz, t.fastest_mhz);
      out += fmt::format("         from {}\n         to   {}{}\n", EndOf(t.from, t.from_net),
                         t.to_clock_gate ? "the clock gate of " : "", EndOf(t.to, t.to_net));
      if (t.memory_access_ns > 0)
        out += fmt::format("         memories are read in {:.2f} ns at most\n", t.memory_access_ns);
      if (t.mapped_for_speed > 0)
        out +=
            fmt::format("         mapped for speed: {}\n", Counted(t.mapped_for_speed, "module"));
      if (t.instances_left_out > 0) {
        out += fmt::format("         not timed: {} of large modules, where others like them are\n",
                           Counted(t.instances_left_out, "instance"));
      }
    }
  }
  return out + fmt::format("time     {:.1f} s\n", result.seconds);
}

std::string ToJson(const SynthesisResult& result, const SynthesisOptions& options) {
  const bool fpga = !options.fpga.empty();
  OrderedJson json = {{"top", result.top}};
  if (fpga) {
    json["fpga"] = options.fpga;
    if (options.device != nullptr)
      json["device"] = JsonOf(*options.device, result.design.resources);
  } else {
    json["library"] = result.library;
    json["clock_mhz"] = options.clock_mhz;
    json["clock_gating"] = options.clock_gating;
    if (options.clock_gating) json["clock_gates"] = result.design.resources.clock_gates;
  }
  json["design"] = JsonOf(result.design, fpga);
  if (result.timing) {
    const hardware::Timing& t = *result.timing;
    json["timing"] = {{"slack_ns", t.slack_ns},
                      {"fastest_mhz", t.fastest_mhz},
                      {"from", t.from},
                      {"from_net", t.from_net},
                      {"to", t.to},
                      {"to_net", t.to_net},
                      {"to_clock_gate", t.to_clock_gate},
                      {"instances_left_out", t.instances_left_out},
                      {"memory_access_ns", t.memory_access_ns},
                      {"mapped_for_speed", t.mapped_for_speed}};
  }
  json["seconds"] = result.seconds;
  return JsonText(json);
}

}  // namespace kiln
