// A small report made by hand: three kernels on two units, one kernel on the host, and names that
// need escaping.
#ifndef TESTS_REPORT_EXAMPLE_REPORT_H_
#define TESTS_REPORT_EXAMPLE_REPORT_H_

#include "kiln/report/run_report.h"

namespace kiln {

inline RunReport ExampleReport() {
  RunReport report;
  report.model = {.name = "tiny <net> & \"co\"",
                  .source = "tiny.onnx",
                  .nodes = 4,
                  .parameters = 1234,
                  .macs = 26000,
                  .input = "image 1x1x4x4",
                  .output = "logits 1x10"};
  report.machine = RunReport::Machine{.name = "toy-4x4",
                                      .family = "systolic",
                                      .source = "toy.yaml",
                                      .description = "family: systolic\nname: toy-4x4  # <&>\n",
                                      .peak_macs_per_cycle = 16,
                                      .cost = {}};
  Cost& cost = report.machine->cost;
  cost.multipliers = 16;
  cost.on_chip_memory_bits = 8192;
  cost.area_square_micrometres = 50000;
  cost.gate_equivalents = 40000;
  cost.area_error = 0.03;
  cost.area_error_worst = 0.12;
  cost.area_error_worst_model = "vector lane";
  cost.area_checked_share = 1;
  cost.units = {{.unit = "array", .logic = 30000},
                {.unit = "buffer <in>", .logic = 0, .memory = 20000, .memory_bits = 8192}};
  cost.events = {{.event = "multiply-accumulate", .picojoules = 0.3}};
  cost.source = "a library & a table";
  cost.notes = {"without wires"};
  report.energy = Energy{.node_nm = 45,
                         .parts = {{"array", "multiply-accumulates", 26000, 0.3},
                                   {"array", "register bits", 100000, 0.01},
                                   {"outer memory", "bytes", 64, 162.5}},
                         .source = "a table"};
  report.objective = "cycles";
  report.data = {.source = "t.idx", .kind = "idx", .preprocess = "scale=1/255", .images = 100};
  report.quantisation = RunReport::Quantisation{
      .recipe = "int8", .calibration = "the first 10 images of t.idx", .format = "int8"};
  report.fp32 = AccuracyReport{.images = 100, .correct = 93};
  report.quantised = AccuracyReport{.images = 100, .correct = 92};
  report.agreement = AccuracyReport{.images = 100, .correct = 98};
  report.level = "functional";
  report.images_run = 100;
  report.run_seconds = 0.5;
  report.cycles_per_image = {4000};
  report.compared_images = 1;
  KernelInfo conv{.name = "conv1+relu1",
                  .source_nodes = {"conv1", "relu1"},
                  .unit = "matrix",
                  .operation = "conv 3x3 1->16 @4x4 +relu",
                  .macs = 20000,
                  .operations = 20000,
                  .schedule = "tiles of 4x4 pixels",
                  .certificate = {.cost = 1500,
                                  .lower_bound = 1250,
                                  .optimal = false,
                                  .unit = "cycles",
                                  .bound_from = "multiply-accumulates"},
                  .host_reason = ""};
  KernelInfo pool = conv;
  pool.name = "pool<1>";
  pool.source_nodes = {"pool<1>"};
  pool.unit = "vector";
  pool.operation = "max pool 2x2";
  pool.macs = 0;
  pool.operations = 64;
  pool.certificate = {.cost = 400,
                      .lower_bound = 400,
                      .optimal = true,
                      .unit = "cycles",
                      .bound_from = "exhaustive search"};
  KernelInfo host = conv;
  host.name =
      "odd\xff"
      "op";  // not UTF-8
  host.source_nodes = {"oddop"};
  host.unit = "host";
  host.operation = "erf 16";
  host.macs = 0;
  host.operations = 160;
  host.schedule.clear();
  host.certificate = {};
  host.host_reason = "no unit computes erf";
  KernelInfo dense = conv;
  dense.name = "fc";
  dense.source_nodes = {"fc"};
  dense.operation = "matmul 64x10";
  dense.macs = dense.operations = 6000;
  dense.certificate.lower_bound = 0;
  report.kernels = {conv, pool, host, dense};
  report.constant_bytes = 2048;
  report.activation_bytes = 512;
  Trace trace;
  trace.cycles = 4000;
  trace.units = {{.name = "array",
                  .busy_cycles = 2600,
                  .stall_cycles = {{"input bank empty", 700}, {"output port", 100}},
                  .bytes_read = 0,
                  .bytes_written = 0},
                 {.name = "store",
                  .busy_cycles = 300,
                  .stall_cycles = {},
                  .bytes_read = 0,
                  .bytes_written = 640}};
  // pool begins while conv1 still runs; it is charged what it adds.
  trace.kernels = {{.kernel = 0, .begin = 0, .end = 2500, .macs = 20000},
                   {.kernel = 1, .begin = 2000, .end = 3000, .macs = 0},
                   {.kernel = 3, .begin = 2900, .end = 4000, .macs = 6000}};
  trace.spans = {{.unit = 0, .kernel = 0, .begin = 10, .end = 1000},
                 {.unit = 0, .kernel = 0, .begin = 1001, .end = 2000},
                 {.unit = 1, .kernel = 0, .begin = 1900, .end = 2100},
                 {.unit = 0, .kernel = 3, .begin = 3200, .end = 3810},
                 {.unit = 1, .kernel = 3, .begin = 3900, .end = 4000}};
  report.trace = std::move(trace);
  report.notes = {"a note"};
  return report;
}

}  // namespace kiln

#endif  // TESTS_REPORT_EXAMPLE_REPORT_H_
