// Formats run reports and traces as JSON. Keys keep their order and their names between versions.
#include <nlohmann/json.hpp>

#include "kiln/report/chrome_trace.h"
#include "kiln/report/confusion_table.h"
#include "kiln/report/kernel_loads.h"
#include "kiln/report/performance.h"
#include "kiln/report/run_report.h"
#include "kiln/support/json_text.h"

namespace kiln {
namespace {

using OrderedJson = nlohmann::ordered_json;

// Returns null for a figure that is absent.
OrderedJson OrNull(const std::optional<double>& value) {
  return value.has_value() ? OrderedJson(*value) : OrderedJson(nullptr);
}

// Returns counts and shares of an accuracy; null if it is not known.
OrderedJson AccuracyJson(const std::optional<AccuracyReport>& accuracy) {
  if (!accuracy.has_value()) return nullptr;
  OrderedJson json = {
      {"images", accuracy->images}, {"correct", accuracy->correct}, {"top1", accuracy->top1()}};
  if (accuracy->labels > 0) json["labels"] = accuracy->labels;
  if (accuracy->top_k > 1) {
    json["top_k"] = {
        {"k", accuracy->top_k}, {"correct", accuracy->correct_top_k}, {"share", accuracy->top()}};
  }
  if (accuracy->confusion.has_value()) json["confusion"] = ConfusionJson(*accuracy->confusion);
  return json;
}

// Returns the arrays written with --outputs.
OrderedJson OutputsFileOf(const RunReport& report) {
  OrderedJson arrays = OrderedJson::array();
  for (const RunReport::WrittenOutput& output : report.written) {
    arrays.push_back(
        {{"output", output.name},
         {"array", output.array},
         {"type", output.type},
         {"shape", output.shape},
         {"codes", output.quantisation.empty() ? OrderedJson(nullptr)
                                               : OrderedJson(output.array + ".codes")},
         {"quantisation",
          output.quantisation.empty() ? OrderedJson(nullptr) : OrderedJson(output.quantisation)}});
  }
  return {{"file", report.outputs_file}, {"arrays", std::move(arrays)}};
}

// Adds the bytes that a kernel moves in the cycles of the trace, and what bounds it.
void AddLoad(const KernelLoad& load, const Traffic& traffic, OrderedJson* json) {
  (*json)["bytes_read"] = load.bytes_read;
  (*json)["bytes_written"] = load.bytes_written;
  (*json)["port"] = load.port < 0 ? OrderedJson(nullptr)
                                  : OrderedJson(traffic.ports[static_cast<size_t>(load.port)].name);
  (*json)["port_bytes"] = load.port_bytes;
  const bool known = load.limit != Limit::kUnknown;
  (*json)["limit"] = known ? OrderedJson(NameOf(load.limit)) : OrderedJson(nullptr);
  (*json)["compute_share"] = known ? OrderedJson(load.compute_share) : OrderedJson(nullptr);
  (*json)["port_share"] = known ? OrderedJson(load.port_share) : OrderedJson(nullptr);
}

// Returns the ports to outer memory; empty if the family does not count bytes by kernel.
OrderedJson Ports(const RunReport& report) {
  OrderedJson ports = OrderedJson::array();
  if (!report.traffic.has_value()) return ports;
  for (const MemoryPort& port : report.traffic->ports) {
    ports.push_back({{"name", port.name},
                     {"bytes_per_cycle", port.bytes_per_cycle},
                     {"direction", port.both     ? "both"
                                   : port.writes ? "write"
                                                 : "read"}});
  }
  return ports;
}

// Returns one entry per kernel. Cycles are present only if the report has a trace.
OrderedJson Kernels(const RunReport& report) {
  OrderedJson out = OrderedJson::array();
  const std::vector<KernelRow> rows = KernelRows(report);
  const std::vector<KernelLoad> loads = KernelLoads(report);
  for (size_t k = 0; k < report.kernels.size(); ++k) {
    const KernelInfo& kernel = report.kernels[k];
    OrderedJson json = {{"name", kernel.name}, {"operation", kernel.operation},
                        {"unit", kernel.unit}, {"source_nodes", kernel.source_nodes},
                        {"macs", kernel.macs}, {"operations", kernel.operations}};
    json["schedule"] =
        kernel.schedule.empty() ? OrderedJson(nullptr) : OrderedJson(kernel.schedule);
    json["host_reason"] = kernel.on_host() ? OrderedJson(kernel.host_reason) : OrderedJson(nullptr);
    if (!rows.empty()) {
      json["cycles"] = rows[k].cycles;
      json["share"] = rows[k].share;
      json["utilisation"] = OrNull(rows[k].utilisation);
    }
    if (!loads.empty() && !kernel.on_host()) AddLoad(loads[k], *report.traffic, &json);
    const Certificate& proof = kernel.certificate;
    if (!kernel.on_host()) {
      // Names the space that was searched if optimality is proved only within it.
      const bool only_searched = proof.optimal && proof.gap() > 0;
      const OrderedJson space =
          only_searched ? OrderedJson(kernel.schedule.empty() ? "loop orders" : "tilings")
                        : OrderedJson(nullptr);
      json["certificate"] = {{"cost", proof.cost}, {"lower_bound", proof.lower_bound},
                             {"gap", proof.gap()}, {"optimal", proof.optimal},
                             {"unit", proof.unit}, {"bound_from", proof.bound_from},
                             {"space", space}};
    }
    out.push_back(std::move(json));
  }
  return out;
}

// Returns a figure; negative figures are unknown and become null.
OrderedJson Figure(double value) { return value < 0 ? OrderedJson(nullptr) : OrderedJson(value); }

// Returns the modelled clock, and what identifies the machine.
OrderedJson ClockOf(const MachineClock& clock) {
  const auto text = [](const std::string& value) {
    return value.empty() ? OrderedJson(nullptr) : OrderedJson(value);
  };
  return {{"mhz", Figure(clock.mhz)},
          {"top", text(clock.machine.top)},
          {"keys", text(clock.machine.keys)},
          {"source", text(clock.source)}};
}

// Returns areas in square micrometres and energies per event in picojoules.
OrderedJson CostOf(const Cost& cost) {
  OrderedJson units = OrderedJson::array(), events = OrderedJson::array();
  for (const UnitArea& unit : cost.units) {
    units.push_back({{"unit", unit.unit},
                     {"logic_um2", unit.logic},
                     {"memory_um2", unit.memory},
                     {"memory_bits", unit.memory_bits}});
  }
  for (const EventEnergy& event : cost.events) {
    events.push_back({{"event", event.event}, {"picojoules", event.picojoules}});
  }
  return {{"node_nm", cost.node_nm},
          {"area_um2", Figure(cost.area_square_micrometres)},
          {"gate_equivalents", Figure(cost.gate_equivalents)},
          {"area_error", Figure(cost.area_error)},
          {"area_error_worst", Figure(cost.area_error_worst)},
          {"area_error_worst_model", cost.area_error_worst_model},
          {"area_checked_share", Figure(cost.area_checked_share)},
          {"missing", cost.missing},
          {"multipliers", cost.multipliers},
          {"on_chip_memory_bits", cost.on_chip_memory_bits},
          {"units", std::move(units)},
          {"events", std::move(events)},
          {"clock", ClockOf(cost.clock)},
          {"source", cost.source},
          {"notes", cost.notes}};
}

// Returns the energy of one image by unit and event.
OrderedJson EnergyOf(const Energy& energy) {
  OrderedJson parts = OrderedJson::array();
  for (const EnergyPart& part : energy.parts) {
    parts.push_back({{"unit", part.unit},
                     {"event", part.event},
                     {"count", part.count},
                     {"picojoules_each", part.picojoules_each},
                     {"picojoules", part.picojoules()}});
  }
  return {{"node_nm", energy.node_nm},
          {"picojoules_per_image", energy.picojoules()},
          {"parts", std::move(parts)},
          {"source", energy.source}};
}

// Returns busy and stall cycles and bytes of each unit.
OrderedJson Units(const Trace& trace) {
  OrderedJson out = OrderedJson::array();
  for (const UnitTrace& unit : trace.units) {
    out.push_back({{"name", unit.name},
                   {"busy_cycles", unit.busy_cycles},
                   {"stall_cycles", OrderedJson(unit.stall_cycles)},
                   {"bytes_read", unit.bytes_read},
                   {"bytes_written", unit.bytes_written}});
  }
  return out;
}

// Returns the queues between units, which are named by their ends; null for those of the machine.
OrderedJson Queues(const Trace& trace) {
  const auto unit = [&](int index) {
    const bool known = index >= 0 && static_cast<size_t>(index) < trace.units.size();
    return known ? OrderedJson(trace.units[static_cast<size_t>(index)].name) : OrderedJson(nullptr);
  };
  OrderedJson out = OrderedJson::array();
  for (const QueueTrace& queue : trace.queues) {
    out.push_back({{"name", queue.name},
                   {"from", unit(queue.from)},
                   {"to", unit(queue.to)},
                   {"depth", queue.depth},
                   {"highest", queue.highest}});
  }
  return out;
}

}  // namespace

std::string ToJson(const RunReport& report) {
  OrderedJson json;
  json["kiln_report"] = kReportVersion;
  json["model"] = {{"name", report.model.name},    {"source", report.model.source},
                   {"nodes", report.model.nodes},  {"parameters", report.model.parameters},
                   {"macs", report.model.macs},    {"input", report.model.input},
                   {"output", report.model.output}};
  json["accelerator"] = nullptr;
  if (report.machine.has_value()) {
    const RunReport::Machine& machine = *report.machine;
    json["accelerator"] = {
        {"name", machine.name},           {"family", machine.family},
        {"source", machine.source},       {"peak_macs_per_cycle", machine.peak_macs_per_cycle},
        {"clock_mhz", machine.clock_mhz}, {"description", machine.description},
        {"cost", CostOf(machine.cost)}};
  }
  json["energy"] = report.energy.has_value() ? EnergyOf(*report.energy) : OrderedJson(nullptr);
  json["performance"] = PerformanceJson(PerformanceOf(report));
  json["optimise"] =
      report.objective.empty() ? OrderedJson(nullptr) : OrderedJson(report.objective);
  json["data"] = {{"source", report.data.source},
                  {"kind", report.data.kind},
                  {"preprocess", report.data.preprocess},
                  {"images", report.data.images}};
  json["outer_memory"] = nullptr;
  if (const auto& memory = report.memory; memory.has_value()) {
    json["outer_memory"] = {{"text", memory->text},
                            {"at_mhz", memory->mhz},
                            {"bytes_per_cycle", memory->bytes_per_cycle},
                            {"latency_cycles", memory->latency_cycles},
                            {"row_miss_cycles", memory->row_miss_cycles},
                            {"least_cycles", MemoryCycles(report)}};
  }
  json["quantisation"] = nullptr;
  if (report.quantisation.has_value()) {
    json["quantisation"] = {{"recipe", report.quantisation->recipe},
                            {"calibration", report.quantisation->calibration},
                            {"format", report.quantisation->format}};
  }
  json["accuracy"] = {
      {"fp32", AccuracyJson(report.fp32)},
      {"quantised", AccuracyJson(report.quantised)},
      {"agreement", AccuracyJson(report.agreement)},
      {"reference", report.reference},
      {"none_because",
       report.no_accuracy.empty() ? OrderedJson(nullptr) : OrderedJson(report.no_accuracy)}};
  json["output_sqnr_db"] = OrNull(report.output_sqnr_db());
  json["outputs"] = OrderedJson::array();
  for (const OutputFidelity& output : report.outputs) {
    json["outputs"].push_back({{"name", output.name},
                               {"sqnr_db", OrNull(output.sqnr_db)},
                               {"equal_share", output.equal_share}});
  }
  json["outputs_file"] = report.outputs_file.empty() ? OrderedJson(nullptr) : OutputsFileOf(report);
  json["run"] = nullptr;
  if (!report.level.empty()) {
    json["run"] = {
        {"level", report.level}, {"images", report.images_run}, {"seconds", report.run_seconds}};
  }
  json["cycles_per_image"] = report.cycles_per_image;
  json["interval_cycles"] =
      report.interval_cycles > 0 ? OrderedJson(report.interval_cycles) : OrderedJson(nullptr);
  json["images_at_once"] = report.trace.has_value() ? report.trace->images : 1;
  json["utilisation"] = OrNull(Utilisation(report));
  json["levels_compared"] = {{"images", report.compared_images},
                             {"different", report.different_images}};
  json["host_share"] = HostShare(report);
  json["partial"] = IsPartial(report);
  const std::optional<HostReason> host = LargestHostReason(report);
  json["host_reason"] = host.has_value() ? OrderedJson(host->reason) : OrderedJson(nullptr);
  json["memory"] = {{"constant_bytes", report.constant_bytes},
                    {"activation_bytes", report.activation_bytes}};
  json["ports"] = Ports(report);
  json["kernels"] = Kernels(report);
  json["units"] = report.trace.has_value() ? Units(*report.trace) : OrderedJson::array();
  json["queues"] = report.trace.has_value() ? Queues(*report.trace) : OrderedJson::array();
  json["notes"] = report.notes;
  return JsonText(json);
}

std::string ToChromeTrace(const Trace& trace, const std::vector<KernelInfo>& kernels) {
  const auto name_of = [&](int kernel) -> OrderedJson {
    return kernel >= 0 && static_cast<size_t>(kernel) < kernels.size()
               ? kernels[static_cast<size_t>(kernel)].name
               : "kernel " + std::to_string(kernel);
  };
  OrderedJson events = OrderedJson::array();
  // Thread 0 holds the kernels; unit u is thread u + 1.
  const auto name_thread = [&](int thread, const std::string& name) {
    events.push_back({{"ph", "M"},
                      {"pid", 1},
                      {"tid", thread},
                      {"name", "thread_name"},
                      {"args", {{"name", name}}}});
  };
  name_thread(0, "kernels");
  for (size_t u = 0; u < trace.units.size(); ++u)
    name_thread(static_cast<int>(u) + 1, trace.units[u].name);
  // Slices of one thread must nest, but kernels overlap. Each kernel is therefore an asynchronous
  // pair of begin and end events.
  for (const KernelTrace& kernel : trace.kernels) {
    for (const bool begin : {true, false}) {
      events.push_back({{"ph", begin ? "b" : "e"},
                        {"cat", "kernel"},
                        {"id", kernel.kernel},
                        {"pid", 1},
                        {"tid", 0},
                        {"ts", begin ? kernel.begin : kernel.end},
                        {"name", name_of(kernel.kernel)}});
    }
  }
  for (const Span& span : trace.spans) {
    events.push_back({{"ph", "X"},
                      {"pid", 1},
                      {"tid", span.unit + 1},
                      {"ts", span.begin},
                      {"dur", span.end - span.begin},
                      {"name", name_of(span.kernel)}});
  }
  OrderedJson json;
  json["displayTimeUnit"] = "ns";
  json["otherData"] = {{"time_unit", "cycles"}, {"cycles", trace.cycles}};
  json["traceEvents"] = std::move(events);
  return JsonText(json, -1);
}

}  // namespace kiln
