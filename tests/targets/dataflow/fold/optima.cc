// Reads the table of optima.
#include "tests/targets/dataflow/fold/optima.h"

#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "kiln/support/check.h"
#include "tests/test_data.h"

namespace kiln::dataflow {

std::vector<PlainOptimum> ReadPlainOptima() {
  std::ifstream file(TestData("dataflow/plain_model_optima.csv"));
  KILN_CHECK(file.good());
  std::string line;
  std::getline(file, line);
  KILN_CHECK(line ==
             "network,conv_layers,input_size,dsp_limit,l_max_cycles,ips_at_200mhz,l_sum_cycles,"
             "dsp_used,sum_tci_tco");
  std::vector<PlainOptimum> optima;
  while (std::getline(file, line)) {
    std::vector<std::string> cells;
    std::istringstream cell_stream(line);
    for (std::string cell; std::getline(cell_stream, cell, ',');) cells.push_back(cell);
    KILN_CHECK(cells.size() == 9);
    PlainOptimum& optimum = optima.emplace_back();
    const auto layers = static_cast<int>(std::stol(cells[1]));
    optimum.layers =
        cells[0] == "ResNet-20" ? ResNet20Layers() : VdsrLayers(layers, std::stol(cells[2]));
    KILN_CHECK(static_cast<int>(optimum.layers.size()) == layers);
    optimum.dsp_limit = std::stol(cells[3]);
    optimum.l_max = std::stol(cells[4]);
    optimum.l_sum = std::stol(cells[6]);
    optimum.dsp_used = std::stol(cells[7]);
    optimum.name = fmt::format("{} at {}, {} DSP", cells[0], cells[2], cells[3]);
  }
  return optima;
}

}  // namespace kiln::dataflow
