#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "commands.h"
#include "options.h"
#include "polykern/core/error.h"
#include "polykern/core/version.h"
#include "polykern/io/files.h"
#include "polykern/net/configuration_texts.h"
#include "polykern/net/pki/authority.h"
#include "polykern/net/server/model_export.h"
#include "polykern/net/server/new_epoch.h"
#include "polykern/net/store_kinds/open_store.h"
#include "polykern/results/text_table.h"

namespace polykern {
namespace {

using Json = nlohmann::ordered_json;

/// What the commands below store can be told.
struct StoreOptions {
  std::string path;
  std::string format = "text";
  std::string out = "-";
  std::string file;  ///< a backup
  std::string to;    ///< another store
  double keep_days = 0;
  std::uint64_t keep_steps = 0;
};

void Show(const StoreOptions& options) {
  const std::string path = StorePath(options.path);
  const StoreContents store = ReadStore(path);
  const std::uint64_t steps = store.newest ? store.newest->steps : 0;
  const std::size_t numbers = store.newest ? store.newest->state.size() : 0;
  if (options.format == "json") {
    Json clients = Json::array();
    for (std::size_t number = 0; number < store.clients.size(); ++number) {
      const StoredClient& client = store.clients[number];
      clients.push_back({{"number", number},
                         {"name", client.name},
                         {"first_seen", client.first_seen},
                         {"last_seen", client.last_seen},
                         {"accepted", client.accepted},
                         {"rejected", client.rejected},
                         {"next_step", client.next_step}});
    }
    std::cout << Json{{"path", path},
                      {"version", store.version},
                      {"configuration", store.configuration},
                      {"steps", steps},
                      {"participants", store.participants},
                      {"committed", store.committed},
                      {"state_numbers", numbers},
                      {"step_records", store.step_records},
                      {"events", store.events},
                      {"file_bytes", store.file_bytes},
                      {"clients", clients}}
                     .dump(2)
              << '\n';
    return;
  }
  std::cout << path << ", version " << store.version << ", "
            << Bytes(static_cast<double>(store.file_bytes)) << '\n';
  if (steps == 0) {
    std::cout << "no step committed yet\n";
  } else {
    std::cout << Count(steps, "step") << " committed, the last at " << TimeText(store.committed)
              << " UTC with " << Count(store.participants, "client") << "; state of "
              << Count(numbers, "number") << '\n';
  }
  std::cout << Count(store.step_records, "step") << " and " << Count(store.events, "event")
            << " on record\n\n";
  for (const auto& [key, value] : store.configuration)
    std::cout << key << " = " << Shown(value) << '\n';
  std::vector<std::vector<std::string>> rows;
  for (const StoredClient& client : store.clients) {
    rows.push_back({client.name, std::to_string(rows.size()), std::to_string(client.accepted),
                    std::to_string(client.rejected),
                    client.next_step > 0 ? std::to_string(client.next_step - 1) : "-",
                    TimeText(client.first_seen), TimeText(client.last_seen)});
  }
  std::cout << '\n'
            << (rows.empty() ? "No client yet.\n"
                             : FormatTable({"client", "number", "accepted", "rejected", "last step",
                                            "first seen", "last seen"},
                                           rows));
}

/// Every bit of what the server needs.
std::string StateText(const StoreContents& store) {
  return Json{{"polykern", Version()},        {"configuration", store.configuration},
              {"steps", store.newest->steps}, {"participants", store.participants},
              {"committed", store.committed}, {"state", store.newest->state}}
             .dump() +
         "\n";
}

void Export(const StoreOptions& options) {
  const std::string path = StorePath(options.path);
  const StoreContents store = ReadStore(path);
  std::string text;
  try {
    if (!store.newest) throw Error("no step is committed yet, so there is no model");
    text = options.format == "json" ? StateText(store) : EncodeExport(ExportModel(store));
  } catch (const Error& error) {
    throw Error(path + ": " + error.marked());
  }
  if (options.out == "-") {
    std::cout << text;
    return;
  }
  ReplaceFile(options.out, text, FileMode::kSecret);
  std::cout << "exported   " << options.out << ", " << Bytes(static_cast<double>(text.size()))
            << '\n';
  if (store.configuration.contains("epsilon")) {
    std::cout << "note       made only from noisy sums: without an agent's --state its predictions "
                 "may be worse than the mean label\n";
  }
}

void Backup(const StoreOptions& options) {
  const std::uint64_t steps = BackupStore(StorePath(options.path), options.file);
  std::cout << "backup     " << options.file << ", after " << Count(steps, "step") << '\n';
}

void Restore(const StoreOptions& options) {
  const std::string path = StorePath(options.path);
  const std::uint64_t steps = RestoreStore(options.file, path);
  std::cout << "restored   " << path << ", after " << Count(steps, "step")
            << "; an older store, if there was one, is " << path << "-before\n";
}

void Prune(const StoreOptions& options, bool by_days, bool by_steps) {
  const std::string path = StorePath(options.path);
  const std::uint64_t before = ReadStore(path).file_bytes;
  Pruned pruned;
  {
    const auto store = OpenStore(path);
    PruneOptions what;
    if (by_days) what.keep_seconds = static_cast<std::uint64_t>(options.keep_days * 86400);
    if (by_steps) what.keep_steps = options.keep_steps;
    pruned = store->Prune(what);
    store->Compact();
  }
  std::cout << "pruned     " << Count(pruned.steps, "step") << ", " << Count(pruned.events, "event")
            << "; " << path << " had " << Bytes(static_cast<double>(before)) << ", has "
            << Bytes(static_cast<double>(ReadStore(path).file_bytes)) << '\n';
}

void Epoch(const StoreOptions& options) {
  const std::string path = StorePath(options.path);
  if (!HasStore(path)) throw Error(path + ": there is no store");
  std::uint64_t epoch = 0;
  try {
    epoch = BeginEpoch(*OpenStore(path));
  } catch (const Error& error) {
    throw Error(path + ": " + error.marked());
  }
  std::cout << "epoch      " << epoch
            << " begins; the model is kept, and clients send "
               "nothing that they have sent before\n";
}

void Copy(const StoreOptions& options) {
  const std::string from = StorePath(options.path);
  if (!HasStore(from)) throw Error(from + ": there is no store");
  const auto source = OpenStore(from);  // so that no server uses it meanwhile
  const StoreContents contents = source->Contents();
  if (HasStore(options.to)) {
    throw Error(options.to + ": a store already exists there; name another place for the copy");
  }
  OpenStore(options.to, contents.configuration)->Fill(contents);
  std::cout << "copied     " << Count(contents.clients.size(), "client") << " and the model after "
            << Count(contents.newest ? contents.newest->steps : 0, "step") << " to " << options.to
            << "; records of earlier steps and events were not copied\n";
}

}  // namespace

void AddStoreCommand(CLI::App& program) {
  CLI::App& store = *program.add_subcommand("store",
                                            "Show, copy, back up and prune a server's store: its "
                                            "configuration, model, clients and audit log.\n"
                                            "Example: polykern store show federation");
  store.require_subcommand(0, 1);
  const auto add = [&](const char* name, const char* help) {
    CLI::App* command = store.add_subcommand(name, help);
    auto options = std::make_shared<StoreOptions>();
    command->add_option("PATH", options->path, "The store, or the folder with store.db")
        ->required();
    AddConfigOption(*command);
    return std::pair(command, options);
  };

  const auto [show, show_options] =
      add("show",
          "Show what is in a store; a server may be using it.\nExample: polykern store show "
          "federation");
  AddFormatOption(*show, show_options->format);
  show->callback([o = show_options] { Show(*o); });

  const auto [write, write_options] =
      add("export",
          "Write the newest model, for polykern predict; a server may be using the store.\n"
          "Example: polykern store export federation --out wind.model");
  write->add_option("--out", write_options->out, "File to write; -: standard output")
      ->capture_default_str();
  write_options->format = "model";
  write
      ->add_option("--format", write_options->format,
                   "model; json: all of the server's state, to read and compare")
      ->check(CLI::IsMember({"model", "json"}))
      ->capture_default_str();
  write->callback([o = write_options] { Export(*o); });

  const auto [backup, backup_options] =
      add("backup",
          "Copy a store, as it is at one moment, to a new file; a server may be using it.\n"
          "Example: polykern store backup federation monday.db");
  backup->add_option("FILE", backup_options->file, "File to make")->required();
  backup->callback([o = backup_options] { Backup(*o); });

  const auto [restore, restore_options] =
      add("restore",
          "Replace a store with a backup; the replaced store is kept beside it. The server must be "
          "stopped.\n"
          "Example: polykern store restore federation monday.db");
  restore->add_option("FILE", restore_options->file, "File made by store backup")->required();
  restore->callback([o = restore_options] { Restore(*o); });

  const auto [copy, copy_options] = add(
      "copy",
      "Move a federation to another kind of store: its configuration, clients and newest model. "
      "Its servers must be stopped.\n"
      "Example: polykern store copy store.db postgresql://polykern@db.example/federation");
  copy->add_option("TO", copy_options->to, "The new store: a file, or a postgresql:// URL")
      ->required();
  copy->callback([o = copy_options] { Copy(*o); });

  const auto [epoch, epoch_options] =
      add("epoch",
          "Start a new epoch of a masked federation, after its helper's file (with pairwise masks, "
          "a client's state) was lost or restored from a backup. The server must be stopped.\n"
          "Example: polykern store epoch federation");
  epoch->callback([o = epoch_options] { Epoch(*o); });

  const auto [prune, prune_options] =
      add("prune",
          "Forget old steps and events, keep the newest model and all "
          "clients, and free the space on the disk. The server must be stopped.\n"
          "Example: polykern store prune federation --keep-days 90");
  CLI::Option* const days = prune->add_option("--keep-days", prune_options->keep_days,
                                              "Keep the steps and events of this many last days");
  days->check(CLI::Range(0.0, 36500.0));
  CLI::Option* const steps = prune->add_option("--keep-steps", prune_options->keep_steps,
                                               "Keep the records of this many last steps");
  steps->check(WholeNumber(0));
  prune->callback(
      [o = prune_options, days, steps] { Prune(*o, days->count() > 0, steps->count() > 0); });
}

}  // namespace polykern
