// replaced by the importer
