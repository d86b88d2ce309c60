// Assembles the HTML page of a run from its sections. html_pictures.cc draws the pictures, and
// html_style.cc holds the style sheet.
#include "kiln/report/html.h"

#include <fmt/format.h>

#include <algorithm>

#include "kiln/report/confusion_table.h"
#include "kiln/report/cost_report.h"
#include "kiln/report/html_parts.h"
#include "kiln/report/kernel_loads.h"
#include "kiln/report/performance.h"
#include "kiln/report/text.h"

namespace kiln {
namespace {

// A box with one figure at the top of the page.
std::string Card(std::string_view label, std::string_view figure, std::string_view detail,
                 std::string_view css_class = "") {
  return fmt::format(
      R"(<div class="card"><div class="label">{}</div><div class="figure {}">{}</div>)"
      R"(<div class="detail">{}</div></div>)",
      EscapeHtml(label), css_class, EscapeHtml(figure), EscapeHtml(detail));
}

// Escapes text line by line, because EscapeHtml replaces line breaks.
std::string EscapeLines(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    out += EscapeHtml(text.substr(0, end)) + '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

// Returns "N of M images", with labels and top-k if they are counted.
std::string OfImages(const AccuracyReport& accuracy) {
  std::string text =
      fmt::format("{} of {}", Thousands(accuracy.correct),
                  accuracy.labels > 0 ? Counted(accuracy.labels, "label") + " of " : "");
  text += Counted(accuracy.images, "image");
  if (accuracy.top_k > 1)
    text += fmt::format(", top-{} {}", accuracy.top_k, Percent(accuracy.top(), 2));
  return text;
}

// A kernel's name for a table cell, whose tool tip has the whole name.
std::string ShortName(const KernelInfo& kernel) { return EscapeHtml(Shorten(kernel.name, 40)); }

// The boxes of time, rate, energy and area, as far as they are known.
std::string TimeCards(const RunReport& report, const Performance& p) {
  const std::string mark = PartialMark(report);
  const bool modelled = p.modelled_mhz.has_value();
  const std::string clock = fmt::format("at {:.5g} MHz{}", p.mhz,
                                        p.confirmed() ? ""
                                        : modelled    ? ", the clock that synthesis confirms"
                                                      : ", which synthesis has not confirmed");
  const std::string_view css_class = modelled && !IsPartial(report) ? "" : "bad";
  std::string out;
  if (p.seconds.has_value()) {
    out += Card(fmt::format("{}time per {}", p.estimated ? "estimated " : "", ImagesAtOnce(report)),
                Milliseconds(*p.seconds), clock + mark, css_class);
  }
  if (p.images_per_second.has_value())
    out += Card("images a second", ImagesPerSecond(*p.images_per_second), clock + mark, css_class);
  if (report.energy.has_value() && report.energy->picojoules() > 0) {
    out += Card(
        "energy per image", Joules(report.energy->picojoules()),
        fmt::format("at {} nm{}{}", report.energy->node_nm,
                    p.watts.has_value() ? fmt::format(", {} W", ThreeDigits(*p.watts)) : "", mark),
        IsPartial(report) ? "bad" : "");
  }
  if (const Cost& cost = report.machine->cost; cost.area_square_micrometres >= 0) {
    out += Card("area", SquareMillimetres(cost.area_square_micrometres),
                fmt::format("at {} nm{}", cost.node_nm,
                            cost.missing.empty() ? "" : ", INCOMPLETE: see below"),
                cost.missing.empty() ? "" : "bad");
  }
  return out;
}

// The row of boxes at the top of the page.
std::string Cards(const RunReport& report) {
  std::string out = R"(<div class="cards">)";
  if (report.fp32.has_value()) {
    out += Card(report.reference + " accuracy", Percent(report.fp32->top1(), 2),
                OfImages(*report.fp32));
  }
  if (report.quantised.has_value()) {
    const std::string format =
        report.quantisation.has_value() ? report.quantisation->format : "quantised";
    std::string detail = OfImages(*report.quantised);
    if (report.fp32.has_value()) {
      detail +=
          fmt::format(", {:+.2f} points", 100 * (report.quantised->top1() - report.fp32->top1()));
    }
    out += Card(format + " accuracy", Percent(report.quantised->top1(), 2), detail);
  }
  const std::optional<Performance> p = PerformanceOf(report);
  if (p.has_value()) out += TimeCards(report, *p);
  if (!report.cycles_per_image.empty()) {
    const auto [least, most] =
        std::minmax_element(report.cycles_per_image.begin(), report.cycles_per_image.end());
    out +=
        Card("cycles per " + ImagesAtOnce(report), Thousands(report.cycles_per_image.front()),
             (*least == *most ? "" : fmt::format("{} to {}", Thousands(*least), Thousands(*most))) +
                 PartialMark(report),
             IsPartial(report) ? "bad" : "");
  }
  if (const std::string interval = IntervalText(report); !interval.empty())
    out += Card("cycles between images", Thousands(report.interval_cycles), interval);
  if (report.trace.has_value()) {
    out += Card("utilisation", UtilisationText(report),
                "of the peak multiply-accumulates" + PartialMark(report),
                IsPartial(report) ? "bad" : "");
  }
  if (report.machine.has_value()) {
    const auto host = std::count_if(report.kernels.begin(), report.kernels.end(),
                                    [](const KernelInfo& kernel) { return kernel.on_host(); });
    out += Card("on the host", Percent(HostShare(report), 2),
                fmt::format("{} of {}, by operations", host,
                            Counted(std::ssize(report.kernels), "kernel")));
  }
  if (report.compared_images > 0) {
    const bool same = report.different_images == 0;
    out += Card("cycle against functional", same ? "equal" : "different",
                same ? "bit for bit on " + Counted(report.compared_images, "image")
                     : fmt::format("{} of {}", report.different_images,
                                   Counted(report.compared_images, "image")),
                same ? "good" : "bad");
  }
  if (report.images_run > 0 && report.run_seconds > 0) {
    out += Card(
        "simulation speed",
        ImagesPerSecond(static_cast<double>(report.images_run) / report.run_seconds) + " images/s",
        fmt::format("{} level, {}", report.level, Counted(report.images_run, "image")));
  }
  return out + "</div>";
}

std::string Setting(std::string_view key, std::string_view value) {
  // One line of a definition list; empty without a value.
  return value.empty() ? ""
                       : fmt::format("<dt>{}</dt><dd>{}</dd>", EscapeHtml(key), EscapeHtml(value));
}

std::string Settings(const RunReport& report) {
  // The section that lists the network, the machine and all settings of the run.
  std::string out = "<h2>What ran</h2><dl>";
  out += Setting("network", report.model.source);
  out += Setting("size", fmt::format("{}, {}, {}", Counted(report.model.nodes, "operator"),
                                     Counted(report.model.parameters, "parameter"),
                                     Metric(static_cast<double>(report.model.macs),
                                            "multiply-accumulates an image")));
  out += Setting("input", report.model.input);
  out += Setting("output", report.model.output);
  if (report.machine.has_value()) {
    out += Setting("accelerator", fmt::format("{} (family {}), {}", report.machine->name,
                                              report.machine->family, report.machine->source));
    out += Setting("peak", fmt::format("{} multiply-accumulates a cycle",
                                       WithoutExponent(report.machine->peak_macs_per_cycle)));
    const Cost& cost = report.machine->cost;
    if (cost.multipliers >= 0) out += Setting("multipliers", Thousands(cost.multipliers));
    if (cost.on_chip_memory_bits >= 0)
      out += Setting("on-chip memory", Bytes(cost.on_chip_memory_bits / 8));
    const Performance performance = *PerformanceOf(report);
    out += Setting("clock", ClockLine(performance));
    if (const std::string speed = SpeedLine(performance); !speed.empty())
      out += Setting("speed", speed + PartialMark(report));
    out += Setting("area", AreaLine(cost));
    if (report.energy.has_value())
      out += Setting("energy", EnergyLine(*report.energy) + PartialMark(report));
    out += Setting("memory image",
                   fmt::format("constants {}, activations {} at their peak",
                               Bytes(report.constant_bytes), Bytes(report.activation_bytes)));
  }
  if (report.memory.has_value()) out += Setting("outer memory", MemoryText(report));
  if (!report.data.source.empty()) {
    out += Setting("data", fmt::format("{}, {} ({})", report.data.source,
                                       Counted(report.data.images, "image"), report.data.kind));
    out += Setting("preprocessing", report.data.preprocess);
  }
  if (report.quantisation.has_value()) {
    out += Setting("quantisation", report.quantisation->Describe());
  }
  if (!report.no_accuracy.empty()) out += Setting("accuracy", "none: " + report.no_accuracy);
  if (report.agreement.has_value()) {
    out += Setting("agreement", fmt::format("{} and quantised name the same class on {}",
                                            report.reference, OfImages(*report.agreement)));
  }
  for (const OutputFidelity& output : report.outputs) {
    out += Setting(&output == report.outputs.data() ? "outputs" : "", FidelityText(output));
  }
  out += Setting("written", WrittenText(report));
  for (const std::string& note : report.notes) out += Setting("note", note);
  return out + "</dl>";
}

std::string KernelTable(const RunReport& report) {
  const std::vector<KernelRow> rows = KernelRows(report);
  // The table of kernels with cycles, shares, utilisation and certificates.
  std::string out =
      R"(<h2>Kernels</h2><div class="scroll"><table><thead><tr><th class="n">#</th><th>kernel</th>)"
      R"(<th>operation</th><th>unit</th><th class="n">MACs</th>)";
  if (!rows.empty()) {
    out += R"(<th class="n">cycles</th><th>share of time</th><th class="n"></th>)"
           R"(<th class="n">utilisation</th>)";
  }
  out += R"(<th class="n">bound</th><th class="n">gap</th><th>schedule</th></tr></thead><tbody>)";
  // Bars are relative to the kernel with the largest share.
  double largest = 0;
  for (const KernelRow& row : rows) largest = std::max(largest, row.share);
  for (size_t k = 0; k < report.kernels.size(); ++k) {
    const KernelInfo& kernel = report.kernels[k];
    const Certificate& proof = kernel.certificate;
    out += fmt::format(
        R"(<tr{}><td class="n">{}</td><td class="name" title="{}">{}</td><td class="long">{}</td>)"
        R"(<td>{}</td><td class="n">{}</td>)",
        kernel.on_host() ? R"( class="host")" : "", k, EscapeHtml(kernel.name), ShortName(kernel),
        EscapeHtml(kernel.operation), EscapeHtml(kernel.unit),
        kernel.macs > 0 ? Thousands(kernel.macs) : "");
    if (!rows.empty() && kernel.on_host()) {
      out += R"(<td></td><td></td><td></td><td></td>)";
    } else if (!rows.empty()) {
      const KernelRow& row = rows[k];
      out += fmt::format(
          R"(<td class="n">{}</td><td>{}</td><td class="n">{}</td><td class="n">{}</td>)",
          Thousands(row.cycles),
          html::ShareBar(largest > 0 ? row.share / largest : 0,
                         html::UnitClass(report, kernel.unit)),
          Percent(row.share), row.utilisation.has_value() ? Percent(*row.utilisation) : "");
    }
    const bool proved = proof.lower_bound > 0;
    out += fmt::format(
        R"(<td class="n" title="{}">{}</td><td class="n">{}</td><td class="long">{}</td></tr>)",
        EscapeHtml(proof.bound_from),
        proved ? Thousands(static_cast<int64_t>(proof.lower_bound)) : "",
        proved ? Percent(proof.gap()) : "", EscapeHtml(ScheduleText(kernel)));
  }
  out += "</tbody></table></div>";
  if (!rows.empty()) {
    out +=
        R"(<p class="note">Kernels overlap in time: each is charged the cycles by which it moved )"
        R"(the end of the run, so that the shares sum to the whole. Utilisation is )"
        R"(multiply-accumulates done over those possible in that time. The bound is a proved )"
        R"(least number of cycles for the kernel by itself with an ideal memory; the gap is how )"
        R"(far the estimate of the schedule that was chosen lies above it. What kernels are )"
        R"(charged is less where they overlap, and more where they wait. Optimal: no schedule can )"
        R"(be better. Optimal among its tilings or loop orders: none of those is better, another )"
        R"(mapping might be.</p>)";
  }
  return out;
}

// The section of what bounds the kernels: roofline, bytes and limits; empty without traffic.
std::string Loads(const RunReport& report) {
  const std::vector<KernelLoad> loads = KernelLoads(report);
  if (loads.empty()) return "";
  const Traffic& traffic = *report.traffic;
  std::string rows;
  for (const KernelLoad& load : loads) {
    const KernelInfo& kernel = report.kernels[static_cast<size_t>(load.kernel)];
    if (kernel.on_host()) continue;
    const bool moves = load.port >= 0;
    rows += fmt::format(
        R"(<tr><td class="n">{}</td><td class="name" title="{}">{}</td><td class="n">{}</td>)"
        R"(<td class="n">{}</td><td>{}</td><td class="n">{}</td><td class="n">{}</td>)"
        R"(<td class="n">{}</td><td>{}</td></tr>)",
        load.kernel, EscapeHtml(kernel.name), ShortName(kernel), Thousands(load.bytes_read),
        Thousands(load.bytes_written),
        moves ? EscapeHtml(traffic.ports[static_cast<size_t>(load.port)].name) : "",
        moves ? ThreeDigits(load.intensity()) : "",
        load.cycles > 0 ? ThreeDigits(load.operations_per_cycle()) : "",
        load.cycles > 0 && moves ? Percent(load.port_share) : "",
        EscapeHtml(LimitText(load, traffic)));
  }
  if (rows.empty()) return "";
  return "<h2>What limits the kernels</h2>\n" + html::Roofline(report, loads) +
         R"(<div class="scroll"><table><thead><tr><th class="n">#</th><th>kernel</th>)"
         R"(<th class="n">bytes read</th><th class="n">written</th><th>busiest port</th>)"
         R"(<th class="n">operations a byte</th><th class="n">a cycle</th>)"
         R"(<th class="n">port busy</th><th>limited by</th></tr></thead><tbody>)" +
         rows + "</tbody></table></div>" +
         fmt::format(
             R"(<p class="note">Bytes go to and from outer memory. The busiest port needs the )"
             R"(most cycles for the kernel's bytes. Compute or bandwidth limits a kernel if a )"
             R"(unit that computes, or that port, is busy in {} of the kernel's cycles or more; )"
             R"(otherwise latency does: units wait for memory, for each other, or to fill and )"
             R"(drain. An operation is half a multiply-accumulate.</p>)",
             Percent(kBoundingShare, 0));
}

// The section of the pictures that the family draws of its kernels; the first one is open.
std::string KernelPictures(const RunReport& report) {
  if (report.pictures.empty()) return "";
  std::string out = "<h2>How kernels run</h2>\n";
  for (const KernelPicture& picture : report.pictures) {
    if (picture.svg.empty()) {
      out += fmt::format("<p class=\"note\">{}</p>\n", EscapeHtml(picture.title));
      continue;
    }
    const KernelInfo& kernel = report.kernels[static_cast<size_t>(picture.kernel)];
    out += fmt::format(
        "<details{}><summary>{} {}: {}</summary><div class=\"scroll\">{}</div></details>\n",
        &picture == report.pictures.data() ? " open=\"\"" : "", picture.kernel, ShortName(kernel),
        EscapeHtml(picture.title), picture.svg);
  }
  return out;
}

// The table of units: busy and waiting shares, bytes.
std::string UnitTable(const Trace& trace) {
  std::string out =
      R"(<div class="scroll"><table><thead><tr><th>unit</th><th class="n">busy cycles</th>)"
      R"(<th class="n">busy</th><th class="n">waiting</th><th class="n">bytes read</th>)"
      R"(<th class="n">bytes written</th></tr></thead><tbody>)";
  for (const UnitTrace& unit : trace.units) {
    int64_t waiting = 0;
    for (const auto& [cause, cycles] : unit.stall_cycles) waiting += cycles;
    const double all = static_cast<double>(std::max<int64_t>(trace.cycles, 1));
    out += fmt::format(
        R"(<tr><td>{}</td><td class="n">{}</td><td class="n">{}</td><td class="n">{}</td>)"
        R"(<td class="n">{}</td><td class="n">{}</td></tr>)",
        EscapeHtml(unit.name), Thousands(unit.busy_cycles),
        Percent(static_cast<double>(unit.busy_cycles) / all),
        Percent(static_cast<double>(waiting) / all), Thousands(unit.bytes_read),
        Thousands(unit.bytes_written));
  }
  return out + "</tbody></table></div>";
}

// The section of area and energy by unit; bars are relative to the largest unit.
std::string Costs(const RunReport& report) {
  const Cost& cost = report.machine->cost;
  const std::vector<CostRow> rows = CostRows(cost, report.energy);
  if (rows.empty()) return "";
  double area = 0, energy = 0;
  for (const CostRow& row : rows) {
    area = std::max(area, row.area);
    energy = std::max(energy, row.picojoules);
  }
  std::string out = R"(<h2>Area and energy</h2><div class="scroll"><table><thead><tr><th>unit</th>)"
                    R"(<th class="n">area</th><th></th><th class="n">of it memory</th>)"
                    R"(<th class="n">energy an image</th><th></th></tr></thead><tbody>)";
  const auto bar = [](double part, double most, const char* colour) {
    return html::ShareBar(most > 0 ? part / most : 0, colour);
  };
  for (const CostRow& row : rows) {
    out += fmt::format(
        R"(<tr><td>{}</td><td class="n">{}</td><td>{}</td><td class="n">{}</td>)"
        R"(<td class="n">{}</td><td>{}</td></tr>)",
        EscapeHtml(row.unit), row.area > 0 ? SquareMillimetres(row.area) : "",
        bar(row.area, area, "u0"), row.memory > 0 ? Percent(row.memory / row.area) : "",
        row.picojoules > 0 ? Joules(row.picojoules) : "", bar(row.picojoules, energy, "u1"));
  }
  out += "</tbody></table></div>";
  std::string notes = "Based on: " + cost.source + ".";
  for (const std::string& note : cost.notes) notes += " Note: " + note + ".";
  return out + fmt::format(R"(<p class="note">{}</p>)", EscapeHtml(notes));
}

// The section of kernels that run on the host, with reasons.
std::string HostKernels(const RunReport& report) {
  std::string rows;
  for (const KernelInfo& kernel : report.kernels) {
    if (!kernel.on_host()) continue;
    rows += fmt::format(
        R"(<tr><td class="name" title="{}">{}</td><td class="long">{}</td><td class="n">{}</td>)"
        R"(<td class="long">{}</td></tr>)",
        EscapeHtml(kernel.name), ShortName(kernel), EscapeHtml(kernel.operation),
        Thousands(kernel.operations), EscapeHtml(kernel.host_reason));
  }
  std::string out = "<h2>On the host</h2>";
  if (rows.empty()) return out + "<p>Nothing: every kernel runs on the accelerator.</p>";
  return out +
         R"(<div class="scroll"><table><thead><tr><th>kernel</th><th>operation</th>)"
         R"(<th class="n">operations</th><th>because</th></tr></thead><tbody>)" +
         rows + "</tbody></table></div>";
}

}  // namespace

std::string ToHtml(const RunReport& report) {
  const std::string machine_name =
      report.machine.has_value() ? report.machine->name : "the reference";
  std::string out =
      html::PageHead(fmt::format("{} on {}", report.model.name, machine_name),
                     fmt::format(R"({} <span class="on">on</span> {})",
                                 EscapeHtml(report.model.name), EscapeHtml(machine_name)));
  out += Cards(report) + "\n" + Settings(report) + "\n";
  if (report.confusion() != nullptr)
    out += "<h2>Confusion of classes</h2>\n" + ConfusionHtml(*report.confusion()) + "\n";
  if (report.trace.has_value()) out += "<h2>Timeline</h2>\n" + html::Timeline(report) + "\n";
  if (report.trace.has_value() && !report.trace->queues.empty())
    out += "<h2>Pipeline</h2>\n" + html::Flow(*report.trace) + "\n";
  if (!report.kernels.empty()) out += KernelTable(report) + "\n" + Loads(report) + "\n";
  out += KernelPictures(report);
  if (report.trace.has_value() && !report.trace->units.empty()) {
    out +=
        "<h2>Units</h2>\n" + html::Stalls(*report.trace) + "\n" + UnitTable(*report.trace) + "\n";
  }
  if (report.machine.has_value()) {
    out += Costs(report) + "\n" + HostKernels(report) + "\n";
    out += fmt::format(
        "<h2>Design point</h2><details><summary>all parameters</summary><pre>{}</pre></details>\n",
        EscapeLines(report.machine->description));
  }
  return out + "<footer>Written by kiln run.</footer></main></body></html>\n";
}

}  // namespace kiln
