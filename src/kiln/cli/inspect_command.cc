// The command `kiln inspect`: shows operators, shapes and counts of a network, also of networks
// that Kiln cannot import.
#include <fmt/format.h>
#include <CLI/App.hpp>
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "kiln/command/arguments.h"
#include "kiln/command/command.h"
#include "kiln/command/result_files.h"
#include "kiln/flow/network_summary.h"
#include "kiln/frontend/model.h"
#include "kiln/frontend/onnx_outline.h"
#include "kiln/ir/work.h"
#include "kiln/passes/pipeline.h"
#include "kiln/report/text.h"
#include "kiln/support/json_text.h"

namespace kiln::cli {
namespace {

// Returns the shape of a value; "-" for an absent operand and "?" for an unknown shape.
std::string ShapeText(const Value* value) {
  return value == nullptr ? "-" : value->has_shape() ? value->shape().ToString() : "?";
}

// The table of operators with their counts and shares of the multiply-accumulates.
std::string OperatorTable(const NetworkSummary& summary) {
  Table table;
  table.Column("operator").Right("nodes").Right("multiply-accumulates").Right("share");
  for (const auto& [name, row] : summary.operators) {
    const double share =
        summary.macs > 0 ? static_cast<double>(row.macs) / static_cast<double>(summary.macs) : 0;
    table.Row({name, Thousands(row.nodes), row.macs > 0 ? Thousands(row.macs) : "-",
               row.macs > 0 ? Percent(share) : "-"});
  }
  return table.ToString();
}

// The table of --shapes.
std::string NodeTable(const Graph& graph) {
  Table table;
  table.Column("node")
      .Column("operator")
      .Column("takes")
      .Column("gives")
      .Right("multiply-accumulates");
  for (const auto& node : graph.nodes()) {
    std::string takes;
    for (const Value* operand : node->operands())
      takes += (takes.empty() ? "" : ", ") + ShapeText(operand);
    const int64_t macs = MacsOf(*node);
    // The whole name: recipes need it.
    table.Row({CleanUtf8(node->name()), std::string(node->info().onnx_name), takes,
               ShapeText(node->result()), macs > 0 ? Thousands(macs) : "-"});
  }
  return table.ToString();
}

// Returns the counts, inputs, outputs and metadata as JSON; unknown shapes are null.
std::string Json(const Graph& graph, const NetworkSummary& summary) {
  using nlohmann::ordered_json;
  ordered_json json;
  json["model"] = graph.source();
  json["nodes"] = summary.nodes;
  json["parameters"] = summary.parameters;
  json["parameter_bytes"] = summary.parameter_bytes;
  json["macs"] = summary.macs;
  json["macs_known"] = summary.macs_known;
  const auto values = [](const std::vector<Value*>& list) {
    ordered_json out = ordered_json::array();
    for (const Value* value : list) {
      out.push_back({{"name", value->name()},
                     {"type", NameOf(value->element())},
                     {"shape", value->has_shape() ? ordered_json(value->shape().dims())
                                                  : ordered_json(nullptr)}});
    }
    return out;
  };
  json["inputs"] = values(graph.inputs());
  json["outputs"] = values(graph.outputs());
  json["operators"] = ordered_json::object();
  for (const auto& [name, row] : summary.operators) {
    json["operators"][name] = {{"nodes", row.nodes}, {"macs", row.macs}};
  }
  json["metadata"] = graph.metadata();
  return JsonText(json);
}

// Returns a name for display.
std::string NameOrNone(const std::string& name) { return name.empty() ? "(no name)" : name; }

// Describes an ONNX model that cannot be imported for `reason`: its operators, and which of them
// are not supported.
std::string OutlineText(const std::string& source, const OnnxOutline& outline,
                        const std::string& reason) {
  std::string text = fmt::format("{}: {}, {}\n", CleanUtf8(source), Counted(outline.nodes, "node"),
                                 Counted(outline.parameters, "parameter"));
  text += CleanUtf8(fmt::format("takes {}; gives {}", outline.inputs, outline.outputs)) + '\n';
  text += CleanUtf8("cannot be imported: " + reason) + "\n\n";
  Table table;
  table.Column("operator").Right("nodes").Column("supported").Column("first node");
  std::string missing;
  int64_t kinds = 0, nodes = 0;
  for (const OnnxOutline::Operator& row : outline.operators) {
    table.Row({CleanUtf8(Shorten(NameOrNone(row.name), 60)), Thousands(row.nodes),
               row.supported ? "yes" : "NO",
               row.supported ? "" : CleanUtf8(Shorten(row.first_node, 48))});
    if (row.supported) continue;
    missing += (missing.empty() ? "" : ", ") + NameOrNone(row.name);
    ++kinds;
    nodes += row.nodes;
  }
  text += table.ToString();
  // Every operator is known, so the error printed above has another cause.
  if (kinds == 0)
    return text +
           "\nsummary: every operator is supported; the reasons that keep the file out are above\n";
  return text + '\n' +
         CleanUtf8(fmt::format("summary: {} of {} not supported, in {} of {}: {}", Thousands(kinds),
                               Counted(std::ssize(outline.operators), "operator"), Thousands(nodes),
                               Counted(outline.nodes, "node"), missing)) +
         '\n';
}

// Returns the same as OutlineText as JSON.
std::string OutlineJson(const std::string& source, const OnnxOutline& outline,
                        const std::string& reason) {
  using nlohmann::ordered_json;
  ordered_json json;
  json["model"] = source;
  json["import_error"] = reason;
  json["ir_version"] = outline.ir_version;
  json["opsets"] = ordered_json::object();
  for (const auto& [domain, version] : outline.opsets)
    json["opsets"][domain.empty() ? "ai.onnx" : domain] = version;
  json["nodes"] = outline.nodes;
  json["parameters"] = outline.parameters;
  json["operators"] = ordered_json::object();
  json["unsupported"] = ordered_json::array();
  for (const OnnxOutline::Operator& row : outline.operators) {
    json["operators"][row.name] = {
        {"nodes", row.nodes}, {"supported", row.supported}, {"first_node", row.first_node}};
    if (!row.supported) json["unsupported"].push_back(row.name);
  }
  return JsonText(json);
}

// Loads a network, or its outline if it cannot be imported, and prints it. By default the network
// is shown after clean-up, --raw shows the file's own operators, and --optimised the network after
// the standard passes.
class InspectCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("model", model_, "The network: ONNX or IR text")->required()->type_name("MODEL");
    sizes_.Declare(app);
    app.add_option("--json", json_, "As JSON; - is standard output, as is no FILE")
        ->expected(0, 1)
        ->default_str("-")
        ->type_name("FILE");
    app.add_flag("--shapes", shapes_, "Every node with its shapes");
    app.add_flag("--raw", raw_,
                 "As the file has it; default: after clean-up, without arithmetic on shapes")
        ->excludes(app.add_flag("--optimised", optimised_, "After the standard passes"));
    app.footer("Example:\n  kiln inspect models/demo_fashion_mnist.onnx --shapes");
  }

  Status Run(Context& context) override {
    if (json_ == "-" && shapes_) {
      return ErrorAt("", "--shapes", "with --json - no table is printed", "leave one of them out");
    }
    const std::filesystem::path inputs[] = {model_};
    KILN_RETURN_IF_ERROR(CheckOutputs({json_}, inputs));
    LoadOptions load;
    load.clean_up = !raw_;
    KILN_ASSIGN_OR_RETURN(load.import.shapes, sizes_.Get());
    StatusOr<Graph> loaded = LoadModel(model_, load);
    if (!loaded.ok()) {
      // An ONNX model that asks for what Kiln or this folder lacks is shown as an outline. A model
      // that contradicts itself remains an error.
      const std::string extension = std::filesystem::path(model_).extension().string();
      if (extension != ".onnx" && extension != ".ONNX") return loaded.status();
      const StatusOr<OnnxOutline> outline = OutlineOnnx(model_);
      if (!outline.ok()) return loaded.status();
      const bool supported =
          std::all_of(outline->operators.begin(), outline->operators.end(),
                      [](const OnnxOutline::Operator& row) { return row.supported; });
      const StatusCode code = loaded.status().code();
      if (supported && code != StatusCode::kUnimplemented && code != StatusCode::kNotFound)
        return loaded.status();
      const std::string reason = MessageOf(loaded.status());
      return WriteResults(context.out, json_, OutlineText(model_, *outline, reason),
                          OutlineJson(model_, *outline, reason));
    }
    Graph graph = *std::move(loaded);
    if (optimised_) {
      PassContext passes;
      KILN_RETURN_IF_ERROR(RunPasses(graph, StandardPipeline(), passes));
    }
    const NetworkSummary summary = Summarise(graph);
    std::string text = TextOf(graph, summary);
    // Inputs of unknown shape: a second import says which sizes --shape needs.
    const auto open = [](const Value* input) {
      return !input->has_shape() || !input->shape().IsKnown();
    };
    if (std::any_of(graph.inputs().begin(), graph.inputs().end(), open)) {
      load.import.known_inputs = true;
      load.clean_up = false;
      if (const auto known = LoadModel(model_, load); !known.ok())
        text += "note: " + MessageOf(known.status()) + '\n';
    }
    return WriteResults(context.out, json_, text, Json(graph, summary));
  }

 private:
  std::string TextOf(const Graph& graph, const NetworkSummary& summary) const {
    std::string text = fmt::format(
        "{}: {}, {} ({}), {}{}\n", CleanUtf8(graph.source()), Counted(summary.nodes, "node"),
        Counted(summary.parameters, "parameter"), Bytes(summary.parameter_bytes),
        Metric(static_cast<double>(summary.macs), "multiply-accumulates"),
        summary.macs_known ? "" : " and more where shapes are unknown");
    text += fmt::format("takes {}; gives {}\n", CleanUtf8(DescribeValues(graph.inputs())),
                        CleanUtf8(DescribeValues(graph.outputs())));
    for (const auto& [key, value] : graph.metadata()) text += CleanUtf8(key + ": " + value) + '\n';
    return text + '\n' + (shapes_ ? NodeTable(graph) : OperatorTable(summary));
  }

  std::string model_, json_;
  ShapeArguments sizes_;
  bool shapes_ = false, raw_ = false, optimised_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeInspectCommand() { return std::make_unique<InspectCommand>(); }

}  // namespace kiln::cli
