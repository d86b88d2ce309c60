// Hands integer programs to CBC. The only file that includes its headers.
#include "kiln/targets/dataflow/fold/integer_program.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include <Cbc_C_Interface.h>
#include <CbcModel.hpp>
#include <CbcSolver.hpp>
#include <CoinPackedMatrix.hpp>
#include <OsiClpSolverInterface.hpp>

#include "kiln/targets/dataflow/fold/ilp.h"

namespace kiln::dataflow {
namespace {

// Called by CBC between its phases; 0 means continue.
int Continue(CbcModel*, int) { return 0; }

}  // namespace

int IntegerProgram::AddBinary() {
  const int variable = AddContinuous(0, 1);
  integer_.back() = 1;
  return variable;
}

int IntegerProgram::AddContinuous(double low, double high) {
  low_.push_back(low);
  high_.push_back(high);
  cost_.push_back(0);
  integer_.push_back(0);
  return variables() - 1;
}

void IntegerProgram::AddRow(std::vector<Entry> entries, double low, double high) {
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.variable < b.variable; });
  Row row{{}, low, high};
  for (const Entry& entry : entries) {
    if (!row.entries.empty() && row.entries.back().variable == entry.variable) {
      row.entries.back().factor += entry.factor;
    } else {
      row.entries.push_back(entry);
    }
  }
  rows_.push_back(std::move(row));
}

void IntegerProgram::SetCost(int variable, double cost) {
  cost_[static_cast<size_t>(variable)] = cost;
}

IntegerProgram::Solution IntegerProgram::Solve(int64_t most_nodes) const {
  CoinPackedMatrix matrix(false, 0, 0);  // by rows
  matrix.setDimensions(0, variables());
  std::vector<double> row_low, row_high;
  for (const Row& row : rows_) {
    std::vector<int> columns;
    std::vector<double> factors;
    for (const Entry& entry : row.entries) {
      columns.push_back(entry.variable);
      factors.push_back(entry.factor);
    }
    matrix.appendRow(static_cast<int>(columns.size()), columns.data(), factors.data());
    row_low.push_back(row.low == -kInfinity ? -COIN_DBL_MAX : row.low);
    row_high.push_back(row.high == kInfinity ? COIN_DBL_MAX : row.high);
  }
  std::vector<double> high = high_;
  for (double& bound : high) {
    if (bound == kInfinity) bound = COIN_DBL_MAX;
  }
  OsiClpSolverInterface solver;
  solver.messageHandler()->setLogLevel(0);
  solver.loadProblem(matrix, low_.data(), high.data(), cost_.data(), row_low.data(),
                     row_high.data());
  for (int v = 0; v < variables(); ++v) {
    if (integer_[static_cast<size_t>(v)]) solver.setInteger(v);
  }
  CbcModel model(solver);
  model.setLogLevel(0);
  CbcSolverUsefulData data;
  CbcMain0(model, data);
  model.setLogLevel(0);
  const std::string nodes = std::to_string(most_nodes);
  const char* arguments[] = {"kiln", "-log",      "0",           "-threads", "0",    "-ratioGap",
                             "0",    "-maxNodes", nodes.c_str(), "-solve",   "-quit"};
  CbcMain1(static_cast<int>(std::size(arguments)), arguments, model, Continue, data);
  Solution solution;
  solution.nodes = model.getNodeCount();
  if (model.bestSolution() != nullptr) {
    solution.values.assign(model.bestSolution(), model.bestSolution() + variables());
  }
  solution.bound = model.getBestPossibleObjValue();
  if (model.isProvenOptimal() && !solution.values.empty()) {
    solution.outcome = Solution::Outcome::kOptimal;
  } else if (model.isProvenInfeasible() || model.isInitialSolveProvenPrimalInfeasible()) {
    solution.outcome = Solution::Outcome::kInfeasible;
  }
  return solution;
}

std::string CbcVersion() { return Cbc_getVersion(); }

}  // namespace kiln::dataflow
