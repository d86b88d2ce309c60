// Compares the folding searches of the dataflow family on whole networks: the quality of their
// folds and the processor time that they take, within one run.
//
//   dataflow_fold [--markdown] [--without-cbc] [--nodes N]
//
// VDSR and ResNet-20 are in the plain model (DSP slices only), the other networks in the FPGA model
// of tests/targets/dataflow/fold/networks.h (DSP, block RAM, URAM, LUT, FIFOs), all on a ZCU104.
// Ratios of L_max are to the exact search's, 1.00 is the optimum; "-" means that the search found
// no fold.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "kiln/targets/dataflow/fold/exact.h"
#include "kiln/targets/dataflow/fold/finn_rule.h"
#include "kiln/targets/dataflow/fold/ilp.h"
#include "kiln/targets/dataflow/fold/plain_model.h"
#include "kiln/targets/dataflow/fold/samo.h"
#include "tests/targets/dataflow/fold/networks.h"

namespace kiln::dataflow {
namespace {

constexpr double kClock = 200e6;  // Hz

struct Case {
  std::string name;
  FoldProblem problem;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const int size : {200, 400, 800}) {
    for (const int layers : {5, 10, 15, 20}) {
      cases.push_back({fmt::format("VDSR-{}, {}", layers, size),
                       PlainChain(VdsrLayers(layers, size), Zcu104()[kDsp])});
    }
  }
  cases.push_back({"ResNet-20", PlainChain(ResNet20Layers(), Zcu104()[kDsp])});
  StageModel model;
  model.activation_bits = 4;
  model.products_per_dsp = 2;
  for (const bool fifos : {false, true}) {
    model.fifos = fifos;
    const char* text = fifos ? " + FIFOs" : "";
    model.weight_bits = 4;
    cases.push_back({fmt::format("ResNet-18 w4{}", text), ResNet(18, model, Zcu104())});
    model.weight_bits = 2;
    cases.push_back({fmt::format("ResNet-50 w2{}", text), ResNet(50, model, Zcu104())});
    model.weight_bits = 4;
    cases.push_back({fmt::format("MobileNetV2 w4{}", text), MobileNetV2(model, Zcu104())});
  }
  model.weight_bits = 8;
  cases.push_back({"ResNet-50 w8", ResNet(50, model, Zcu104())});
  return cases;
}

struct Timed {
  StatusOr<FoldResult> result;
  double milliseconds = 0;  // of processor time
};

// Runs a search; short ones several times, of which the fastest counts.
Timed Measure(const std::function<StatusOr<FoldResult>()>& search) {
  Timed best{search(), 0};
  double total = 0;
  for (int run = 0; run == 0 || (run < 5 && total < 100); ++run) {
    const std::clock_t start = std::clock();
    best.result = search();
    const double milliseconds =
        1e3 * static_cast<double>(std::clock() - start) / static_cast<double>(CLOCKS_PER_SEC);
    total += milliseconds;
    best.milliseconds = run == 0 ? milliseconds : std::min(best.milliseconds, milliseconds);
  }
  return best;
}

// Returns "ratio of L_max (milliseconds)".
std::string Cell(const Timed& timed, const FoldResult& exact) {
  if (!timed.result.ok()) return "error";
  std::string ratio = "-";
  if (timed.result->fold && exact.fold) {
    ratio = fmt::format(
        "{:.2f}{}",
        static_cast<double>(timed.result->metrics.l_max) / static_cast<double>(exact.metrics.l_max),
        timed.result->metrics.l_sum == exact.metrics.l_sum ? "" : "*");
  }
  return fmt::format("{} ({:.1f})", ratio, timed.milliseconds);
}

// A table that prints each row at once. As Markdown it has two parts: the columns up to that of CBC
// are printed at once, the network and the columns of the other searches by PrintOthers.
class Table {
 public:
  explicit Table(bool markdown) : markdown_(markdown) {}

  void Add(const std::vector<std::string>& cells) {
    static constexpr int kWidths[] = {24, 10, 11, 10, 11, 7, 10, 17, 14, 16, 16, 17};
    std::string line;
    if (markdown_) {
      const auto others = cells.begin() + kOthers;
      line = fmt::format("| {} |", fmt::join(cells.begin(), others, " | "));
      others_ += fmt::format("| {} | {} |\n", cells[0], fmt::join(others, cells.end(), " | "));
    } else {
      for (size_t i = 0; i < cells.size(); ++i) line += fmt::format("{:<{}}", cells[i], kWidths[i]);
    }
    fmt::print("{}\n", line);
    std::fflush(stdout);
  }

  // Adds the line below the titles.
  void AddRule() {
    if (markdown_) Add(std::vector<std::string>(kColumns, "---"));
  }

  void PrintOthers() const {
    if (markdown_) fmt::print("\nThe other searches:\n\n{}", others_);
  }

 private:
  static constexpr int kOthers = 8, kColumns = 12;
  bool markdown_;
  std::string others_;
};

void PrintCase(const Case& test, bool with_cbc, int64_t nodes, Table* table) {
  const Objective objective;
  const Timed exact = Measure([&] { return SolveExact(test.problem, objective); });
  if (!exact.result.ok()) {
    fmt::print("{}: {}\n", test.name, MessageOf(exact.result.status()));
    return;
  }
  const FoldResult& best = *exact.result;
  std::vector<std::string> cells = {test.name, fmt::format("10^{:.1f}", Log10Folds(test.problem))};
  if (best.fold) {
    const FoldMetrics& metrics = best.metrics;
    cells.insert(cells.end(),
                 {fmt::format("{}{}", metrics.l_max, best.certificate.optimal ? "" : "?"),
                  fmt::format("{:.2f}", kClock / static_cast<double>(metrics.l_max)),
                  fmt::format("{}", metrics.l_sum), fmt::format("{}", metrics.resources[kDsp])});
  } else {
    cells.insert(cells.end(), {"none", "-", "-", "-"});
  }
  cells.push_back(fmt::format("{:.2f}", exact.milliseconds));
  std::string cbc = "not run";
  if (with_cbc) {
    IlpOptions options;
    options.most_nodes = nodes;
    const Timed ilp = Measure([&] { return SolveIlp(test.problem, objective, options); });
    cbc = Cell(ilp, best);
    if (ilp.result.ok() && !ilp.result->certificate.optimal) cbc += "?";
  }
  cells.push_back(cbc);
  SamoOptions samo;
  samo.most_folds = 100000;
  const FoldProblem& problem = test.problem;
  cells.push_back(Cell(Measure([&] { return SolveFinnRule(problem, objective); }), best));
  cells.push_back(Cell(Measure([&] { return SolveSamoRule(problem, objective, samo); }), best));
  cells.push_back(
      Cell(Measure([&] { return SolveSamoAnnealing(problem, objective, samo); }), best));
  cells.push_back(
      Cell(Measure([&] { return SolveSamoBruteForce(problem, objective, samo); }), best));
  table->Add(cells);
  if (!best.fold) fmt::print("    {}\n", best.infeasible);
}

int Main(int argc, char** argv) {
  bool markdown = false, without_cbc = false;
  int64_t nodes = 2000;
  CLI::App app("Compares the folding searches of the dataflow family.");
  app.add_flag("--markdown", markdown, "print the table as Markdown");
  app.add_flag("--without-cbc", without_cbc, "leave out the integer programs, which take minutes");
  app.add_option("--nodes", nodes, "most nodes of the branch and bound of one integer program");
  CLI11_PARSE(app, argc, argv);
  Table table(markdown);
  table.Add({"network", "folds", "L_max", "images/s", "L_sum", "DSP", "exact ms", "CBC",
             "FINN rule", "SAMO rule", "SAMO anneal", "SAMO brute"});
  table.AddRule();
  for (const Case& test : Cases()) PrintCase(test, !without_cbc, nodes, &table);
  table.PrintOthers();
  fmt::print(
      "\nimages/s at 200 MHz. Other searches: L_max over the optimum's (processor time in ms).\n"
      "* the same or a larger L_max with another L_sum; ? not proved within the budget; brute "
      "force "
      "of 100000 folds.\n");
  return 0;
}

}  // namespace
}  // namespace kiln::dataflow

int main(int argc, char** argv) { return kiln::dataflow::Main(argc, argv); }
