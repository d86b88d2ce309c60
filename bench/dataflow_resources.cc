// Compares the FPGA model of the dataflow family with synthesised machines, and fits the model's
// LUT coefficients to them.
//
//   dataflow_resources measure NETWORK DEVICE FOLDER [--recipe R] [--segment N]
//     Compiles a network, synthesises one of its machines with Yosys in FOLDER, and prints a row of
//     CSV for each stage and channel that keeps its boundary, and one for the whole machine. This
//     takes minutes to hours. A second run in the same folder maps only what is new.
//   dataflow_resources fit CSV
//     Fits the coefficients to all rows that are not kept for checking, and prints both the
//     coefficients and the errors.
//
// The second of every three rows of a network is kept for checking, and so are whole machines.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "kiln/flow/flow.h"
#include "kiln/hardware/area_fit.h"
#include "kiln/hardware/synthesis.h"
#include "kiln/support/file.h"
#include "kiln/targets/dataflow/compile/program.h"
#include "kiln/targets/dataflow/config/config.h"
#include "kiln/targets/dataflow/cost/fpga_model.h"

namespace kiln::dataflow {
namespace {

constexpr char kColumns[] =
    "network,fpga,unit,kind,check,lut,dsp,ramb18,uram,model_dsp,model_ramb18,model_uram,"
    "memory_lut";

// Returns the resources of Yosys' cells in the units of the model.
FpgaResources Measured(const hardware::Resources& found) {
  return {.dsp = found.dsps,
          .ramb18 = std::llround(2 * found.block_rams),
          .uram = found.ultra_rams,
          .lut = found.luts + found.lut_memories};
}

// The netlist of a synthesis: the counts of its modules, and the module of each instance in the
// network.
struct Netlist {
  hardware::NetlistStatistics modules;
  std::map<std::string, std::string> instances;
};

StatusOr<Netlist> ReadNetlist(const std::filesystem::path& work) {
  Netlist netlist;
  for (const auto& entry : std::filesystem::directory_iterator(work / "parts")) {
    if (entry.path().extension() != ".json") continue;
    KILN_ASSIGN_OR_RETURN(const std::string text, ReadFile(entry.path()));
    KILN_ASSIGN_OR_RETURN(hardware::NetlistStatistics part, hardware::ParseStatistics(text));
    netlist.modules.merge(part);
  }
  KILN_ASSIGN_OR_RETURN(const std::string text, ReadFile(work / "netlist.v"));
  std::istringstream lines(text);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("module "))
      inside = line.find("kiln_dataflow_network") != std::string::npos;
    if (!inside || !line.starts_with("  \\kiln_")) continue;
    std::istringstream words(line.substr(3));
    std::string module, instance;
    words >> module >> instance;
    netlist.instances[instance] = module;
  }
  return netlist;
}

void PrintRow(const std::string& start, const FpgaResources& found, const FpgaResources& counted,
              const LutFeatures& features) {
  fmt::print("{},{},{},{},{},{},{},{},{}", start, found.lut, found.dsp, found.ramb18, found.uram,
             counted.dsp, counted.ramb18, counted.uram, counted.lut);
  for (const double feature : features) fmt::print(",{:g}", feature);
  fmt::print("\n");
}

struct MeasureArguments {
  std::string network, device, folder, recipe;
  size_t segment = 0;
};

Status Measure(const MeasureArguments& arguments) {
  FlowOptions options;
  options.model = arguments.network;
  options.accelerator = arguments.device;
  options.recipe = arguments.recipe;
  options.recipe_given = !arguments.recipe.empty();
  options.images.random = 8;
  options.calibration_images = 8;
  KILN_ASSIGN_OR_RETURN(const CompiledNetwork compiled, CompileFlow(options));
  const auto& program = dynamic_cast<const DataflowProgram&>(*compiled.program);
  if (arguments.segment >= program.segments().size())
    return ErrorAt("", "--segment", "there are fewer segments", "a number from 0");
  const std::filesystem::path folder = arguments.folder;
  KILN_RETURN_IF_ERROR(compiled.accelerator->EmitRtl(*compiled.program, {}, folder / "design"));
  std::filesystem::create_directories(folder / "work");
  const auto design = program.segments().size() == 1
                          ? folder / "design"
                          : folder / fmt::format("design/segment{}", arguments.segment);
  KILN_ASSIGN_OR_RETURN(const hardware::DesignSources sources,
                        hardware::SourcesOfFolder(design, ""));
  hardware::SynthesisOptions synthesis;
  synthesis.fpga = program.config().ultrascale ? "xcup" : "xc7";
  KILN_ASSIGN_OR_RETURN(const hardware::SynthesisResult result,
                        hardware::Synthesise(sources, synthesis, folder / "work"));
  KILN_ASSIGN_OR_RETURN(const Netlist netlist, ReadNetlist(folder / "work"));

  const Pipeline& pipeline = program.segments()[arguments.segment].pipeline;
  const std::string network = fmt::format(
      "{}{},{}", std::filesystem::path(arguments.network).stem().string(),
      program.segments().size() == 1 ? "" : fmt::format("[{}]", arguments.segment), synthesis.fpga);
  fmt::print("{}", kColumns);
  for (const std::string_view name : LutFeatureNames()) fmt::print(",{}", name);
  fmt::print("\n");
  int units = 0;
  const auto print = [&](const std::string& name, const std::string& kind,
                         const FpgaResources& counted, const LutFeatures& features) -> Status {
    const auto instance = netlist.instances.find(name);
    if (instance == netlist.instances.end()) return OkStatus();
    KILN_ASSIGN_OR_RETURN(
        const hardware::SynthesisedUnit unit,
        hardware::SumUnits(netlist.modules, instance->second, 0, [](const std::string& cell) {
          return hardware::XilinxResources(cell);
        }));
    PrintRow(fmt::format("{},{},{},{}", network, name, kind, units++ % 3 == 1 ? 1 : 0),
             Measured(unit.resources), counted, features);
    return OkStatus();
  };
  for (const Stage& stage : pipeline.stages) {
    const FpgaResources counted = CountedResourcesOf(pipeline, stage, program.config().ultrascale);
    KILN_RETURN_IF_ERROR(print("stage_" + stage.name, std::string(NameOf(stage.kind)), counted,
                               LutFeaturesOf(pipeline, stage, counted)));
  }
  for (size_t i = 0; i < pipeline.channels.size(); ++i) {
    const Channel& channel = pipeline.channels[i];
    KILN_RETURN_IF_ERROR(print(fmt::format("c{}", i), "channel", CountedResourcesOf(channel),
                               LutFeaturesOf(channel)));
  }
  FpgaResources whole = ResourcesOf(pipeline, program.config().ultrascale);
  PrintRow(fmt::format("{},machine,machine,1", network), Measured(result.design.resources), whole,
           {});
  return OkStatus();
}

// A row of the CSV.
struct Row {
  std::string network, fpga, unit, kind;
  bool check = false;
  double lut = 0, memory_lut = 0;
  std::vector<double> features;
};

StatusOr<std::vector<Row>> ReadRows(const std::string& file) {
  KILN_ASSIGN_OR_RETURN(const std::string text, ReadFile(file));
  std::vector<Row> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.starts_with("network,")) continue;
    std::vector<std::string> cells;
    std::istringstream parts(line);
    for (std::string cell; std::getline(parts, cell, ',');) cells.push_back(cell);
    if (cells.size() != 13 + size_t{kLutFeatures})
      return ErrorAt(file, line, "has another number of cells than the file's head", "");
    Row row;
    row.network = cells[0];
    row.fpga = cells[1];
    row.unit = cells[2];
    row.kind = cells[3];
    row.check = cells[4] == "1";
    row.lut = std::stod(cells[5]);
    row.memory_lut = std::stod(cells[12]);
    for (size_t i = 13; i < cells.size(); ++i) row.features.push_back(std::stod(cells[i]));
    rows.push_back(std::move(row));
  }
  return rows;
}

struct Error {
  double sum = 0, worst = 0, modelled = 0, found = 0;
  int points = 0;
};

Status Fit(const std::string& file) {
  KILN_ASSIGN_OR_RETURN(const std::vector<Row> rows, ReadRows(file));
  const auto names = LutFeatureNames();
  // Adders, products made of LUTs and thresholds have at least one LUT for each bit, also where the
  // sample contains none of them.
  std::vector<double> least(kLutFeatures, 0.0);
  for (const char* name : {"adders", "products", "thresholds"})
    least[static_cast<size_t>(std::ranges::find(names, name) - names.begin())] = 1;
  const auto luts_of = [](const Row& row, const std::vector<double>& coefficients) {
    double luts = row.memory_lut;
    for (size_t i = 0; i < coefficients.size(); ++i) luts += coefficients[i] * row.features[i];
    return luts;
  };
  // Small units are weighted like one of 100 LUTs, so that their rounding does not decide.
  std::vector<std::vector<double>> system;
  std::vector<double> wanted;
  for (const Row& row : rows) {
    if (row.check || row.kind == "machine") continue;
    const double weight = 1 / std::max(row.lut, 100.0);
    std::vector<double>& line = system.emplace_back(row.features);
    for (double& feature : line) feature *= weight;
    wanted.push_back((row.lut - luts_of(row, least)) * weight);
  }
  std::vector<double> fitted = hardware::SolveNonNegative(system, wanted);
  for (size_t i = 0; i < fitted.size(); ++i) fitted[i] += least[i];
  fmt::print("constexpr LutFeatures kLutCoefficients = {{\n");
  for (size_t i = 0; i < fitted.size(); ++i)
    fmt::print("    {:.3f},  // {}\n", fitted[i], names[i]);
  fmt::print("}};\n\n");
  std::map<std::string, Error> errors;
  for (const Row& row : rows) {
    if (row.kind == "machine") continue;
    const double luts = luts_of(row, fitted);
    const double error = luts / std::max(row.lut, 1.0) - 1;
    for (const std::string& group :
         {row.kind + (row.check ? ", kept out" : ""), row.network + " " + row.fpga}) {
      Error& sum = errors[group];
      sum.modelled += luts;
      sum.found += row.lut;
      ++sum.points;
      sum.sum += std::abs(error);
      sum.worst = std::max(sum.worst, std::abs(error));
    }
  }
  for (const auto& [group, error] : errors) {
    fmt::print("{:<40} {:>4} units  mean {:6.1f} %  worst {:6.1f} %  sum {:+6.1f} %\n", group,
               error.points, 100 * error.sum / error.points, 100 * error.worst,
               100 * (error.modelled / error.found - 1));
  }
  return OkStatus();
}

int Main(int argc, char** argv) {
  CLI::App app{"Compares the FPGA model of the dataflow family with synthesised machines."};
  app.require_subcommand(1);
  MeasureArguments arguments;
  CLI::App* measure = app.add_subcommand("measure", "Synthesises a machine and prints its rows");
  measure->add_option("network", arguments.network)->required();
  measure->add_option("device", arguments.device)->required();
  measure->add_option("folder", arguments.folder)->required();
  measure->add_option("--recipe", arguments.recipe);
  measure->add_option("--segment", arguments.segment);
  std::string csv;
  CLI::App* fit = app.add_subcommand("fit", "Fits the coefficients to the rows of a file");
  fit->add_option("csv", csv)->required();
  CLI11_PARSE(app, argc, argv);
  const Status status = measure->parsed() ? Measure(arguments) : Fit(csv);
  if (!status.ok()) fmt::print(stderr, "dataflow_resources: {}\n", std::string(status.message()));
  return status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace kiln::dataflow

int main(int argc, char** argv) { return kiln::dataflow::Main(argc, argv); }
