#include <algorithm>
#include <ctime>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "commands.h"
#include "federation/federation_options.h"
#include "options.h"
#include "polykern/core/error.h"
#include "polykern/io/files.h"
#include "polykern/io/temporary_folder.h"
#include "polykern/net/load/child_server.h"
#include "polykern/net/load/load.h"
#include "polykern/net/pki/authority.h"
#include "polykern/net/pki/client_identity.h"
#include "polykern/net/server/declared_federation.h"
#include "polykern/results/text_table.h"

namespace polykern {
namespace {

using Json = nlohmann::ordered_json;

/// Everything `polykern load` can be told.
struct LoadCommandOptions {
  std::size_t clients = 100;
  double seconds = 5;     ///< measured
  double warm_up = 1;     ///< before that
  std::size_t steps = 0;  ///< measured instead, if any
  std::string server;     ///< empty: one of its own
  std::string certificates;
  std::string store;       ///< of its own server; empty: a file in the folder
  std::size_t fronts = 1;  ///< so many servers of its own, with one store
  std::string folder;  ///< where its own server's folder is made; empty: where temporary files go
  std::string algorithm = "pof-mkl";
  std::string mode = "sync";
  std::string masking = "none";
  std::size_t kernels = 51, features = 20, kernels_per_upload = 25, dimension = 14;
  std::set<std::string> given = {};  ///< of these, by key
  std::uint64_t seed = 0;
  std::string format = "text";
};

constexpr const char* kClientName = "load";

/// Words of a command line.
class Arguments {
 public:
  explicit Arguments(const char* command) : words_{"polykern", command} {}
  void operator()(const char* option, const std::string& value) {
    words_.insert(words_.end(), {option, value});
  }
  const std::vector<std::string>& words() const { return words_; }

 private:
  std::vector<std::string> words_;
};

/// Makes what a helper needs in a folder that has an authority.
std::vector<std::string> HelperArguments(const LoadCommandOptions& o, const std::string& folder) {
  IssueOptions issue;
  issue.hosts = {"127.0.0.1"};
  IssueHelper(folder + "/pki", "helper", issue);
  std::string names;
  for (std::size_t k = 0; k < o.clients; ++k) {
    names += kClientName + ("-" + std::to_string(k)) + "\n";
  }
  ReplaceFile(folder + "/clients.txt", names, FileMode::kSecret);
  Arguments add("helper");
  add("--listen", "127.0.0.1:0");
  add("--certificates", folder + "/pki/helpers/helper");
  add("--store", folder + "/helper.db");
  add("--clients", "@" + folder + "/clients.txt");
  add("--log", "none");
  return add.words();
}

/// `helper`: its address; empty: there is none.
std::vector<std::string> ServeArguments(const LoadCommandOptions& o, const std::string& folder,
                                        const std::string& helper) {
  Arguments add("serve");
  add("--listen", "127.0.0.1:0");
  add("--certificates", folder + "/pki");
  add("--store", o.store.empty() ? folder + "/store.db" : o.store);
  add("--algorithm", o.algorithm);
  DeclaredFederation sizes;
  sizes.options = {{"kernels", std::to_string(o.kernels)},
                   {"features", std::to_string(o.features)},
                   {"kernels_per_upload", std::to_string(o.kernels_per_upload)}};
  // The server says of a size that was given that it has no effect, and not of our defaults.
  for (const std::string& key : OptionsWithoutEffect(sizes, o.algorithm)) {
    if (!o.given.contains(key)) sizes.options.erase(key);
  }
  for (const auto& [key, text] : sizes.options) add(ShellSpelling(key).c_str(), text);
  add("--dimension", std::to_string(o.dimension));
  add("--target-range", "none");
  add("--mode", o.mode);
  add("--log", "none");
  if (o.mode == "sync") add("--quorum", std::to_string(o.clients));
  add("--max-clients", std::to_string(o.clients));
  add("--max-connected", std::to_string(o.clients));
  if (!helper.empty()) {
    add("--masking", o.masking);
    add("--helper", helper);
  }
  return add.words();
}

/// What belongs to the figures of the clients.
struct Surroundings {
  double connecting = 0;                     ///< seconds until all were welcomed
  double own_work = 0;                       ///< seconds of a core while it was measured
  std::optional<double> server_work = {};    ///< of its own server
  std::optional<double> server_memory = {};  ///< bytes per client
  std::optional<double> helper_work = {};    ///< of its own helper
};

void Report(const LoadCommandOptions& o, const LoadFigures& figures, const Surroundings& around) {
  const double rate = static_cast<double>(figures.updates) / figures.seconds;
  const double steps = static_cast<double>(figures.steps) / figures.seconds;
  const double p50 = 1000 * Percentile(figures.latencies, 0.5);
  const double p99 = 1000 * Percentile(figures.latencies, 0.99);
  const double updates = std::max(1.0, static_cast<double>(figures.updates));
  const double up = static_cast<double>(figures.sent_bytes) / updates;
  const double down = static_cast<double>(figures.received_bytes) / updates;
  if (o.format == "json") {
    Json json{{"clients", o.clients},
              {"seconds", figures.seconds},
              {"connecting_seconds", around.connecting},
              {"updates", figures.updates},
              {"updates_per_second", rate},
              {"steps", figures.steps},
              {"steps_per_second", steps},
              {"latency_p50_ms", p50},
              {"latency_p99_ms", p99},
              {"bytes_up", up},
              {"bytes_down", down},
              {"rejected", figures.rejected},
              {"load_microseconds_per_update", 1e6 * around.own_work / updates},
              {"server_microseconds_per_update", nullptr},
              {"server_bytes_per_client", nullptr},
              {"helper_microseconds_per_update", nullptr}};
    if (around.server_work) {
      json["server_microseconds_per_update"] = 1e6 * *around.server_work / updates;
      json["server_bytes_per_client"] = *around.server_memory;
    }
    if (around.helper_work) {
      json["helper_microseconds_per_update"] = 1e6 * *around.helper_work / updates;
    }
    std::cout << json.dump(2) << '\n';
    return;
  }
  std::cout << Count(o.clients, "client") << ", connected in " << Fixed(around.connecting, 1)
            << " s; measured for " << Fixed(figures.seconds, 1) << " s\n"
            << Fixed(rate, 0) << " updates/s, " << Fixed(steps, 1) << " steps/s, "
            << figures.rejected << " rejected\n"
            << "step latency p50 " << Fixed(p50, 2) << " ms, p99 " << Fixed(p99, 2) << " ms\n"
            << "per client and step " << Bytes(up) << " up, " << Bytes(down) << " down\n";
  std::cout << "a core's time per update: clients " << Fixed(1e6 * around.own_work / updates, 0)
            << " us";
  if (around.server_work) {
    std::cout << ", server " << Fixed(1e6 * *around.server_work / updates, 0) << " us";
    if (around.helper_work) {
      std::cout << ", helper " << Fixed(1e6 * *around.helper_work / updates, 1) << " us";
    }
    std::cout << '\n'
              << "server memory per client " << Fixed(*around.server_memory / 1024, 1) << " KiB";
  }
  std::cout << '\n';
}

/// Seconds that a core has worked for this process.
double OwnWork() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// What all of them have together.
template <class Value>
double Of(const std::vector<std::unique_ptr<ChildServer>>& servers, const Value& value) {
  double sum = 0;
  for (const auto& each : servers) sum += static_cast<double>(value(*each));
  return sum;
}

void Execute(const LoadCommandOptions& o) {
  if (o.fronts > 1 && o.store.empty()) {
    throw Error("--fronts needs a --store that they can share: a postgresql:// URL");
  }
  std::optional<TemporaryFolder> folder;
  std::optional<ChildServer> helper;
  std::vector<std::unique_ptr<ChildServer>> servers;
  LoadOptions load;
  load.seed = o.seed;
  if (o.server.empty()) {
    folder.emplace(o.folder);
    InitOptions init;
    init.hosts = {"127.0.0.1"};
    InitAuthority(folder->path() + "/pki", init);
    load.identities =
        MakeClientIdentities(folder->path() + "/pki", kClientName, o.clients, std::time(nullptr));
    if (o.masking == "helper") {
      helper.emplace("/proc/self/exe", HelperArguments(o, folder->path()));
    }
    load.server.clear();
    for (std::size_t n = 0; n < o.fronts; ++n) {
      servers.push_back(std::make_unique<ChildServer>(
          "/proc/self/exe", ServeArguments(o, folder->path(), helper ? helper->address() : "")));
      load.server += (n == 0 ? "" : ",") + servers.back()->address();
    }
  } else {
    if (o.certificates.empty()) throw Error("--server needs --certificates: the clients' folders");
    load.identities = ReadClientIdentities(o.certificates, o.clients);
    load.server = o.server;
  }
  const double before = Of(servers, [](const ChildServer& each) { return each.Memory(); });
  Load clients(load);
  Surroundings around;
  around.connecting = clients.connecting().count();
  clients.WaitForSteps(1);
  if (o.steps == 0) clients.Measure(Milliseconds(o.warm_up));
  const auto work = [&] {
    return Of(servers, [](const ChildServer& each) { return each.Work(); });
  };
  const double server_before = work();
  const double helper_before = helper ? helper->Work() : 0;
  const double own_before = OwnWork();
  const LoadFigures figures =
      o.steps == 0 ? clients.Measure(Milliseconds(o.seconds)) : clients.MeasureSteps(o.steps);
  around.own_work = OwnWork() - own_before;
  if (helper) around.helper_work = helper->Work() - helper_before;
  if (!servers.empty()) {
    around.server_work = work() - server_before;
    around.server_memory =
        (Of(servers, [](const ChildServer& each) { return each.Memory(); }) - before) /
        static_cast<double>(o.clients);
  }
  Report(o, figures, around);
}

}  // namespace

void AddLoadCommand(CLI::App& program) {
  auto o = std::make_shared<LoadCommandOptions>();
  CLI::App& load = *program.add_subcommand(
      "load",
      "Measure how many clients a server can handle: runs them in one process, "
      "against a server that it starts, or another one.\n"
      "Example: polykern load --clients 100 --seconds 10");
  AddConfigOption(load);
  const auto number = [&load](const char* names, std::size_t& value, const char* help) {
    return load.add_option(names, value, help)->check(WholeNumber(1))->capture_default_str();
  };
  number("-c,--clients", o->clients, "Clients, each with its own connection");
  load.add_option("--seconds", o->seconds, "How long to measure")
      ->check(CLI::Range(0.1, 1e6))
      ->capture_default_str();
  load.add_option("--warm-up", o->warm_up, "Seconds before the measurement starts")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  load.add_option("--steps", o->steps,
                  "Measure so many steps after the first instead of seconds: two runs then send "
                  "the same messages (pof-gram's differ from step to step)")
      ->check(WholeNumber(1))
      ->excludes("--seconds")
      ->excludes("--warm-up");
  AddServerOption(load, o->server,
                  "HOST, or HOST:PORT; several, separated by commas, share the clients (default: "
                  "start a server, with its own authority)");
  load.add_option("--certificates", o->certificates,
                  "With --server: a folder of clients' folders, like pki/clients");
  load.add_option("--store", o->store,
                  "New store for the server that it starts (default: a temporary file)");
  number("--fronts", o->fronts, "With a --store in PostgreSQL: how many servers to start");
  load.add_option(
      "--folder", o->folder,
      "Folder for the temporary store, on the disk to measure (default: where temporary files go)");
  load.add_option(
          "-a,--algorithm", o->algorithm,
          "Algorithm of the server that it starts; the options below are for that server, too")
      ->capture_default_str();
  load.add_option("--mode", o->mode, "sync, or async (pof-newton)")
      ->check(CLI::IsMember({"sync", "async"}))
      ->capture_default_str();
  load.add_option("--masking", o->masking,
                  "none, or helper: mask the messages, and start a helper (pof-gram)")
      ->check(CLI::IsMember({"none", "helper"}))
      ->capture_default_str();
  const std::map<std::string, CLI::Option*> sizes = {
      {"kernels", number("-N,--kernels", o->kernels, "N, kernels in the dictionary")},
      {"features", number("-D,--features", o->features, "D, features per kernel")},
      {"kernels_per_upload", number("-M,--kernels-per-upload", o->kernels_per_upload,
                                    "M, kernels a client sends per step")}};
  number("--dimension", o->dimension, "Inputs per sample");
  load.add_option("--seed", o->seed, "Seed of the samples")
      ->check(WholeNumber(0))
      ->capture_default_str();
  AddFormatOption(load, o->format);
  load.callback([o, sizes] {
    for (const auto& [key, option] : sizes) {
      if (option->count() > 0) o->given.insert(key);
    }
    Execute(*o);
  });
}

}  // namespace polykern
