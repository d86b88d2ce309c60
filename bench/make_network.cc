// Writes one of the benchmark networks (networks.h) as ONNX:
//   build/bench/make_network resnet50 resnet50.onnx
#include <cstdio>

#include "bench/networks.h"
#include "kiln/frontend/onnx.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: make_network NAME FILE.onnx\nnames:");
    for (const std::string& name : kiln::bench::NetworkNames())
      std::fprintf(stderr, " %s", name.c_str());
    std::fprintf(stderr, "\n");
    return 2;
  }
  const auto graph = kiln::bench::MakeNetwork(argv[1]);
  const kiln::Status status = graph.ok() ? kiln::ExportOnnx(*graph, argv[2]) : graph.status();
  if (!status.ok()) std::fprintf(stderr, "make_network: %s\n", kiln::MessageOf(status).c_str());
  return status.ok() ? 0 : 1;
}
