package lookalike

import "testing"

// INV-59: a name of mixed scripts, of another width, or with a verdict in it is told; those that
// people and firms have are not.
func TestMisleads(t *testing.T) {
	for _, name := range []string{"Bаnk", "Bank Банк", "ＢＡＮＫ", "Bank２", "𝐁𝐚𝐧𝐤", "ⒷⒶⓃⓀ", "Bank verified", "Bank ✓", "Bank ✔️", "✅ Bank", "☑ Bank", "🛡️ Bank", "V e r i f i e d Bank", "Vérifié Bank",
		"Ve\u0301rifie\u0301", "verif\u200bied", "Bank (trusted)", "Offizielle Bank", "Banco oficial", "Banque officielle", "بنك موثوق", "البنك الرسمي", "官方银行", "公式アプリ", "Официальный банк", "VERIFIED", "Verificado",
		"fìdí múlẹ̀", "Geprüft", "Вank official", "Bank ᴠᴇʀɪꜰɪᴇᴅ", "🅥🅔🅡🅘🅕🅘🅔🅓 Bank", "🅅erified", "Ver1f1ed Bank", "0fficia1 Bank", "V€rified ★", "Tru5ted Bank", "Bank, it has proved who it is", "Bank 𐄂", "Legit Bank", "Resmî Banka",
		"Bank (identity proven)", "Bank is who it says it is", "Bank 検証済", "Verifierad Bank", "Banka ověřená", "Банк перевірено", "Ngân hàng đã xác minh", "ธนาคาร ยืนยันแล้ว",
		"Bank (signature valid)", "Bank, identity checked", "Bank geprueft", "Bank, bestaetigt", "Bank verfied", "Настоящий банк", "已核实银行", "驗證銀行", "검증된 은행", "本物の銀行", "Bank ㊣", "ʙᴀɴᴋ", "Bank 🪪", "Bank potwierdzony", "Onaylı Banka"} {
		if !Misleads(name) {
			t.Errorf("%q does not mislead", name)
		}
	}
	for _, name := range []string{"", "Bank", "Planner 2", "Österreichische Post", "Crédit Agricole", "Сбербанк", "بنك مصر", "בנק הפועלים", "三菱UFJ銀行", "トヨタ Toyota", "카카오뱅크 Kakao", "Aṣojú", "नेपाल बैंक", "Acme™", "1ª Classe", "H₂O",
		"Improved Planner", "Overengineering Bot", "Redis Known Hosts", "Provence Travel", "agent-7_b", "🚀 Launcher", "Trust Bank", "Studio 54", "Care Smile", "Caresmith", "Totito", "7-Eleven", "3M", "🇩🇪 Bank", "ธนาคารไทย", "Secure Shell Helper", "Original Recipes", "Real Madrid News", "Endorphin", "Keymaster"} {
		if Misleads(name) {
			t.Errorf("%q misleads", name)
		}
	}
}
