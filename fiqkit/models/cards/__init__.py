"""Model cards: which model runs on which engine, where its weights lie and what memory they need."""
